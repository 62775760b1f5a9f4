// How each lane of a race arrives: evenly, or held back by something on its way.
import { burstsOf, heldBack } from "../charts/buffering";
import type { Manner } from "../i18n/arrivals";
import { PROTOCOL_NAMES } from "../ui/Mark";
import type { Lane } from "./lane";

/** Fewer events are neither even nor held back. */
const JUDGEABLE = 10;

export function mannersOf(lanes: readonly Lane[]): Manner[] {
  return lanes.map((lane) => ({ name: PROTOCOL_NAMES[lane.protocol], how: mannerOf(lane, lanes) }));
}

function mannerOf(lane: Lane, lanes: readonly Lane[]): Manner["how"] {
  const others = lanes.filter((other) => other !== lane).map(({ times }) => times);
  const held = burstsOf(lane.times) ?? heldBack(0, lane.times, others);
  return held ?? (lane.times.length < JUDGEABLE ? "none" : "even");
}
