// How engines and store stand, from /readyz: asked for every ten seconds while the page is in sight, and at once when
// it comes back or when an answer has just failed.

import { useSyncExternalStore } from "react";

const EVERY_MS = 10_000;
const PATIENCE_MS = 5_000;

export interface ModelState {
  readonly id: string;
  readonly state: string;
}

export interface Readiness {
  /** `unreachable`: nobody answered. `checking`: not asked yet. */
  readonly status: "checking" | "ready" | "down" | "unreachable";
  readonly models: readonly ModelState[];
  readonly store: { readonly kind: string; readonly ok: boolean } | null;
}

const UNKNOWN: Readiness = { status: "checking", models: [], store: null };
const UNREACHABLE: Readiness = { status: "unreachable", models: [], store: null };

let current = UNKNOWN;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

export function readiness(): Readiness {
  return current;
}

export function useReadiness(): Readiness {
  return useSyncExternalStore(subscribe, readiness);
}

/** Asks now instead of at the next turn. */
export async function checkNow(): Promise<void> {
  clearTimeout(timer);
  const found = await ask();
  if (JSON.stringify(found) !== JSON.stringify(current)) {
    current = found;
    for (const listener of listeners) listener();
  }
  clearTimeout(timer);
  if (listeners.size > 0 && document.visibilityState === "visible") timer = setTimeout(checkNow, EVERY_MS);
}

async function ask(): Promise<Readiness> {
  try {
    const answer = await fetch("/readyz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    return read(await answer.json());
  } catch {
    return UNREACHABLE;
  }
}

/** The object of docs/protocol.md; what is no such object came from a proxy that reached nobody. */
export function read(body: unknown): Readiness {
  const { ready, models, store } = Object(body) as Record<string, unknown>;
  if (typeof ready !== "boolean") return UNREACHABLE;
  return {
    status: ready ? "ready" : "down",
    models: Array.isArray(models) ? (models as ModelState[]) : [],
    store: (store as Readiness["store"]) ?? null,
  };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) {
    document.addEventListener("visibilitychange", whenSeen);
    void checkNow();
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    document.removeEventListener("visibilitychange", whenSeen);
    clearTimeout(timer);
  };
}

function whenSeen(): void {
  if (document.visibilityState === "visible") void checkNow();
}
