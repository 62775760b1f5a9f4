// Numbers as people of the language write them; plurals by the language's own rules.

import type { Lang } from "../app/preferences";

const rules = new Intl.PluralRules("en");
const ordinals = new Intl.PluralRules("en", { type: "ordinal" });
const formats: Record<Lang, Intl.NumberFormat> = {
  en: new Intl.NumberFormat("en"),
  ja: new Intl.NumberFormat("ja"),
};

/** 1 event, 2 events, 1,234 events. */
export function counted(n: number, one: string, other: string): string {
  return `${number(n)} ${rules.select(n) === "one" ? one : other}`;
}

export function number(n: number, lang: Lang = "en"): string {
  return formats[lang].format(n);
}

const NAMED = ["", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"];
const SUFFIX: Partial<Record<Intl.LDMLPluralRule, string>> = { one: "st", two: "nd", few: "rd" };

/** third, 12th. */
export function ordinal(n: number): string {
  return NAMED[n] || `${number(n)}${SUFFIX[ordinals.select(n)] ?? "th"}`;
}

/** Milliseconds as seconds with as many digits as tell something: 0.84, 2.37, 12.4, 95. */
export function seconds(ms: number): string {
  const s = ms / 1000;
  return s < 10 ? s.toFixed(2) : s < 60 ? s.toFixed(1) : String(Math.round(s));
}
