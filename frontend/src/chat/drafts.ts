// What is not sent yet: the words in the composer, by conversation, and the settings of the conversation to come.

import { useSyncExternalStore } from "react";
import { NO_SETTINGS, type Settings } from "./conversation";

const KEY = "polystream.settings";
const texts = new Map<string, string>();
const listeners = new Set<() => void>();
let settings = read();

export function draftText(conversationId: string | null): string {
  return texts.get(conversationId ?? "") ?? "";
}

export function keepDraftText(conversationId: string | null, text: string): void {
  texts.set(conversationId ?? "", text);
}

/** As the last conversation had them: what one has once chosen one does not choose again. */
export function draftSettings(): Settings {
  return settings;
}

export function useDraftSettings(): Settings {
  return useSyncExternalStore(subscribe, draftSettings);
}

export function setDraftSettings(change: Partial<Settings>): void {
  settings = { ...settings, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // For this page's life, then.
  }
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function read(): Settings {
  try {
    return { ...NO_SETTINGS, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>) };
  } catch {
    return NO_SETTINGS;
  }
}
