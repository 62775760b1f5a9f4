// A recording in a line of facts: over which protocols, how fast, how much, and whether it was verified.
import type { Recording } from "../app/recordings";
import { isRunning } from "../app/recordings";
import { burstsOf } from "../charts/buffering";
import type { Figures } from "../charts/figures";
import { figuresOf } from "../charts/figures";
import type { Event } from "../stream/event";
import { isLast } from "../stream/event";
import type { Protocol } from "../stream/transport";
import { bytesOnWire } from "./framing";

export interface Summary {
  /** In the order of the connections; one that comes again at once counts once. */
  readonly route: readonly Protocol[];
  readonly figures: Figures;
  readonly events: number;
  readonly bytes: number;
  readonly running: boolean;
  readonly outcome: "running" | "verified" | "mismatch" | "failed" | "stopped" | "incomplete" | "finished";
  readonly durationMs: number;
  readonly buffered: boolean;
}

export function summaryOf(recording: Recording): Summary {
  const { frames, events, run, startedAt } = recording;
  const pieces = events.filter(({ event }) => isPiece(event));
  const times = pieces.map(({ at }) => at - startedAt);
  const bytes = frames.reduce((sum, frame) => sum + (frame.direction === "in" ? bytesOnWire(frame) : 0), 0);
  const last = events.at(-1);
  return {
    route: routeOf(frames.map(({ protocol }) => protocol)),
    figures: figuresOf({ startedAt: 0, times, bytes, tokens: tokensIn(pieces), endedAt: null }),
    events: events.length,
    bytes,
    running: run !== null && isRunning(run),
    outcome: outcomeOf(recording, last?.event),
    durationMs: (last?.at ?? startedAt) - startedAt,
    buffered: burstsOf(times) !== null,
  };
}

function isPiece(event: Event): boolean {
  return event.type !== "started" && event.type !== "notice" && !isLast(event);
}

function tokensIn(pieces: Recording["events"]): number {
  return pieces.reduce((sum, { event }) => sum + (event.type === "text" ? (event.tokens ?? 1) : 0), 0);
}

function routeOf(protocols: readonly Protocol[]): Protocol[] {
  return protocols.filter((protocol, n) => protocol !== protocols[n - 1]);
}

function outcomeOf({ run }: Recording, last: Event | undefined): Summary["outcome"] {
  if (!run || isRunning(run)) return run ? "running" : "incomplete";
  if (run.phase === "failed" || last?.type === "failed") return "failed";
  if (run.phase === "stopped" || (last?.type === "finished" && last.reason === "cancelled")) return "stopped";
  if (run.phase === "lost") return "incomplete";
  if (run.verified === "mismatch") return "mismatch";
  return run.verified === "verified" ? "verified" : "finished";
}
