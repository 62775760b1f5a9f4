// What belongs to the browser rather than to a conversation: language, theme, and how answers travel.
// Kept in localStorage, shared by all tabs.

import { useSyncExternalStore } from "react";
import type { Protocol } from "../stream/transport";
import { PROTOCOLS } from "../stream/transport";

export type Lang = "en" | "ja";
export type Theme = "light" | "dark";

export interface Preferences {
  readonly lang: Lang;
  readonly theme: Theme;
  readonly protocol: Protocol;
  /** SSE by the browser's own EventSource instead of fetch. */
  readonly eventSource: boolean;
}

const KEY = "polystream.preferences";
const listeners = new Set<() => void>();
let chosen: Partial<Preferences> = read();
let current = resolve();

export function preferences(): Preferences {
  return current;
}

export function setPreferences(change: Partial<Preferences>): void {
  chosen = { ...chosen, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(chosen));
  } catch {
    // A browser that keeps nothing has them for this page's life.
  }
  update();
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, preferences);
}

/** Puts language and theme on the document, now and with each change. */
export function applyToDocument(): () => void {
  const apply = () => {
    document.documentElement.lang = current.lang;
    document.documentElement.dataset.theme = current.theme;
  };
  apply();
  return subscribe(apply);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function update(): void {
  current = resolve();
  for (const listener of listeners) listener();
}

/** What was chosen; for the rest the browser's language and the system's theme. */
function resolve(): Preferences {
  return {
    lang: chosen.lang ?? (navigator.language.toLowerCase().startsWith("ja") ? "ja" : "en"),
    theme: chosen.theme ?? (systemIsDark()?.matches ? "dark" : "light"),
    protocol: chosen.protocol ?? "sse",
    eventSource: chosen.eventSource ?? false,
  };
}

function systemIsDark(): MediaQueryList | undefined {
  return typeof matchMedia === "function" ? matchMedia("(prefers-color-scheme: dark)") : undefined;
}

function read(): Partial<Preferences> {
  try {
    return sane(JSON.parse(localStorage.getItem(KEY) ?? "{}"));
  } catch {
    return {};
  }
}

function sane(value: unknown): Partial<Preferences> {
  const { lang, theme, protocol, eventSource } = Object(value) as Record<string, unknown>;
  return {
    ...(lang === "en" || lang === "ja" ? { lang } : {}),
    ...(theme === "light" || theme === "dark" ? { theme } : {}),
    ...(PROTOCOLS.some((known) => known === protocol) ? { protocol: protocol as Protocol } : {}),
    ...(typeof eventSource === "boolean" ? { eventSource } : {}),
  };
}

addEventListener("storage", (event) => {
  if (event.key !== KEY) return;
  chosen = read();
  update();
});
systemIsDark()?.addEventListener("change", update);
