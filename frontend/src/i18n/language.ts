// Words in the language of the page. A part of the UI keeps its own pair of dictionaries of one type, so that a word
// that is missing in one of them does not compile.

import { type Lang, preferences, usePreferences } from "../app/preferences";
import { en } from "./en";
import { ja } from "./ja";

export type Dictionaries<Words> = Readonly<Record<Lang, Words>>;

const SHARED: Dictionaries<Words> = { en, ja };

/** The dictionary's shape: text, or a function of what is to be counted or named. */
export type Words = Wide<typeof en>;
export type Wide<T> = {
  readonly [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...given: infer Given) => string
      ? (...given: Given) => string
      : Wide<T[K]>;
};

/** The shared words: shell, chat, errors. */
export function useWords(): Words {
  return SHARED[usePreferences().lang];
}

/** The shared words outside of React. */
export function words(): Words {
  return SHARED[preferences().lang];
}

/** A view's own words. */
export function useDictionary<W>(dictionaries: Dictionaries<W>): W {
  return dictionaries[usePreferences().lang];
}
