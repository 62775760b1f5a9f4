import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { en } from "./en";
import { ja } from "./ja";
import { counted, ordinal } from "./numbers";

type Leaf = readonly [path: string, value: unknown];

function leaves(value: unknown, path = ""): Leaf[] {
  if (typeof value !== "object" || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path ? `${path}.${key}` : key));
}

/** What a word says; functions are given numbers and names that stand out. */
function spoken(value: unknown): string {
  return typeof value === "function" ? String(value(3, "X", "Y")) : String(value);
}

const JAPANESE = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u;
/** Said in the other language, or in none. */
const SAME = new Set(["lang", "settings.range", "bar.otherLanguage", "bar.otherLanguageLabel"]);

test("both languages have the same words", () => {
  expect(
    leaves(ja)
      .map(([path]) => path)
      .sort(),
  ).toEqual(
    leaves(en)
      .map(([path]) => path)
      .sort(),
  );
});

test("Japanese is Japanese", () => {
  const foreign = leaves(ja).filter(([path, value]) => !SAME.has(path) && !JAPANESE.test(spoken(value)));
  expect(foreign.map(([path, value]) => `${path}: ${spoken(value)}`)).toEqual([]);
});

test("English keeps the house's tone", () => {
  const loud = leaves(en).filter(([, value]) => /!|\bplease\b|oops/i.test(spoken(value)));
  expect(loud).toEqual([]);
});

test("Japanese has no blank between scripts and uses its own punctuation", () => {
  const wrong = leaves(ja).filter(([, value]) =>
    /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}] (?![ms·\d])[A-Za-z]|[\p{Script=Hiragana}\p{Script=Han}][,.!?]/u.test(
      spoken(value),
    ),
  );
  expect(wrong.map(([path, value]) => `${path}: ${spoken(value)}`)).toEqual([]);
});

test("every error code of the protocol has words", () => {
  const protocol = readFileSync("../docs/protocol.md", "utf8");
  const table = protocol.slice(protocol.indexOf("## Errors"), protocol.indexOf("### From upstream"));
  const codes = [...table.matchAll(/^\| `(\w+)` \| \d/gm)].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(20);
  const shown = codes.filter((code) => code !== "cancelled");
  expect(shown.filter((code) => code && !en.errors[code])).toEqual([]);
});

test("numbers decide the words around them", () => {
  expect([counted(1, "event", "events"), counted(1234, "event", "events")]).toEqual([
    "1 event",
    "1,234 events",
  ]);
  expect([1, 3, 11, 12, 21, 22, 103].map(ordinal)).toEqual([
    "first",
    "third",
    "11th",
    "12th",
    "21st",
    "22nd",
    "103rd",
  ]);
  expect(en.trimmed(1)).toBe("The oldest turn no longer fits and was not sent.");
  expect(en.trimmed(3)).toBe("The 3 oldest turns no longer fit and were not sent.");
});
