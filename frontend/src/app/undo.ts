// What was just taken away can be put back for eight seconds; no dialog asks before.

import { useSyncExternalStore } from "react";

const UNDO_MS = 8000;

export interface Undoable {
  /** What happened, in a sentence. */
  readonly text: string;
  readonly undo: () => void;
}

let current: Undoable | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

export function offerUndo(undoable: Undoable | null): void {
  clearTimeout(timer);
  current = undoable;
  if (undoable) timer = setTimeout(() => offerUndo(null), UNDO_MS);
  for (const listener of listeners) listener();
}

export function useUndoable(): Undoable | null {
  return useSyncExternalStore(subscribe, () => current);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
