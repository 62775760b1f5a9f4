// Conversations under the day they were last asked in: today, yesterday, then months.

import type { Words } from "../i18n/language";
import type { Conversation } from "./conversation";

export interface Day {
  readonly name: string;
  readonly conversations: readonly Conversation[];
}

/** `conversations`: the newest first. */
export function byDay(conversations: readonly Conversation[], now: number, words: Words): readonly Day[] {
  const days = new Map<string, Conversation[]>();
  for (const conversation of conversations) {
    const name = dayName(conversation.updated, now, words);
    days.set(name, [...(days.get(name) ?? []), conversation]);
  }
  return [...days].map(([name, list]) => ({ name, conversations: list }));
}

export function matches({ title, turns }: Conversation, sought: string): boolean {
  const words = sought.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = [title, ...turns.flatMap(({ ask, answer }) => [ask, answer.text])]
    .join("\n")
    .toLocaleLowerCase();
  return words.every((word) => text.includes(word));
}

function dayName(time: number, now: number, { lang, list }: Words): string {
  const day = new Date(time);
  const today = new Date(now);
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  if (isSameDay(day, today)) return list.today;
  if (isSameDay(day, yesterday)) return list.yesterday;
  const thisYear = day.getFullYear() === today.getFullYear();
  return day.toLocaleDateString(lang, { month: "long", ...(thisYear ? {} : { year: "numeric" }) });
}

function isSameDay(a: Date, b: Date): boolean {
  return a.toDateString() === b.toDateString();
}
