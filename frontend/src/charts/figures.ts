// The figures of one answer, from what was seen of it on its way.
import type { Spread } from "./gaps";
import { spreadOf } from "./gaps";

/** What is known of an answer so far. Times are of performance.now(). */
export interface Trace {
  readonly startedAt: number;
  /** When each event with a piece of the answer came. */
  readonly times: readonly number[];
  /** Bytes of the text events, with their framing, and the tokens in them. */
  readonly bytes: number;
  readonly tokens: number;
  /** When the last event came. */
  readonly endedAt: number | null;
}

/** null: not known yet. */
export interface Figures {
  readonly firstTokenMs: number | null;
  readonly tokensPerSecond: number | null;
  readonly gaps: Spread | null;
  readonly bytesPerToken: number | null;
}

export function figuresOf(trace: Trace): Figures {
  const first = trace.times[0];
  return {
    firstTokenMs: first === undefined ? null : first - trace.startedAt,
    tokensPerSecond: rateOf(trace),
    gaps: spreadOf(trace.times),
    bytesPerToken: trace.tokens === 0 ? null : trace.bytes / trace.tokens,
  };
}

/** What came within less time came out of one buffer, and says nothing about a pace. */
const SHORTEST_MS = 50;

/** Tokens in a second, from the first to the newest: without the wait for the first, which is a figure of its own. */
function rateOf({ times, tokens }: Trace): number | null {
  const first = times[0];
  const newest = times.at(-1);
  if (first === undefined || newest === undefined || newest - first < SHORTEST_MS || tokens < 2) return null;
  return ((tokens - tokens / times.length) / (newest - first)) * 1000;
}
