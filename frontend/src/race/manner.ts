// How the lanes of a race arrive: evenly, held back by something on their way, or one after the other.
import { burstsOf, heldBack } from "../charts/buffering";
import type { Manner } from "../i18n/arrivals";
import { PROTOCOL_NAMES } from "../ui/Mark";
import type { Lane } from "./lane";

/** Fewer events are neither even nor held back. */
const JUDGEABLE = 10;

export function mannersOf(lanes: readonly Lane[]): Manner[] {
  return lanes.map((lane) => ({ name: PROTOCOL_NAMES[lane.protocol], how: mannerOf(lane, lanes) }));
}

/** Whose first token came only when another answer had ended: the engine, not the protocol, made them wait. */
export function waitedForEngine(lanes: readonly Lane[]): string[] {
  const firstEnd = Math.min(...lanes.map(({ endMs }) => endMs ?? Number.POSITIVE_INFINITY));
  return lanes.flatMap(({ times, protocol }) =>
    (times[0] ?? 0) > firstEnd ? [PROTOCOL_NAMES[protocol]] : [],
  );
}

function mannerOf(lane: Lane, lanes: readonly Lane[]): Manner["how"] {
  const others = lanes.filter((other) => other !== lane).map(({ times }) => times);
  const held = burstsOf(lane.times, others) ?? heldBack(0, lane.times, others);
  return held ?? (lane.times.length < JUDGEABLE ? "none" : "even");
}
