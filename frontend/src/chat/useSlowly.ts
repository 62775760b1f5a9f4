// What is drawn ten times a second: figures and charts need not be drawn each frame, and cannot be read faster. In the
// frame in which the text is drawn, so that it costs no commit of its own.

import { useCallback, useSyncExternalStore } from "react";
import { spaced } from "../app/frames";
import { recordings } from "../app/recordings";
import type { Answer } from "./conversation";
import { answers } from "./service";

const EVERY_MS = 100;

export function useSlowly(stored: Answer): Answer {
  const { id } = stored;
  const read = useCallback(() => answers.live(id)?.answer, [id]);
  return useSyncExternalStore(subscribeToAnswers, read) ?? stored;
}

/** How many events of an answer this page has seen come. */
export function useEventCount(answerId: string): number {
  const read = useCallback(() => recordings.get(answerId)?.events.length ?? 0, [answerId]);
  return useSyncExternalStore(subscribeToRecordings, read);
}

const subscribeToAnswers = (listener: () => void) => answers.subscribe(spaced(listener, EVERY_MS));
const subscribeToRecordings = (listener: () => void) => recordings.subscribe(spaced(listener, EVERY_MS));
