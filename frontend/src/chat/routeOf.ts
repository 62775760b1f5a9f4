// The protocols that carried an answer, in order, each change once: SSE → WebSocket.

import type { Protocol } from "../stream/transport";
import type { Answer } from "./conversation";

/** More would not fit into a line: the first and the last three. */
const SHOWN = 4;

export function routeOf({ protocol, seams }: Answer): readonly Protocol[] {
  const all = [protocol, ...seams.map((seam) => seam.protocol)];
  const changes = all.filter((one, index) => index === 0 || one !== all[index - 1]);
  return changes.length <= SHOWN ? changes : [protocol, ...changes.slice(1 - SHOWN)];
}
