// An answer's blocks by the connection that carried them. A seam falls where it falls, but is told behind the block in
// which it fell: no line goes through a paragraph, a row or code.

import type { Block } from "../markdown/blocks";
import type { Protocol } from "../stream/transport";
import type { Seam } from "./conversation";

export interface Part {
  readonly key: string;
  readonly protocol: Protocol;
  /** What stands before it; null for the first. */
  readonly seam: Seam | null;
  readonly blocks: readonly Block[];
}

export function partsOf(blocks: readonly Block[], seams: readonly Seam[], first: Protocol): readonly Part[] {
  if (blocks.length === 0) return [];
  const parts: Part[] = [];
  let protocol = first;
  let seam: Seam | null = null;
  let from = 0;
  for (const next of seams) {
    const to = Math.max(from, firstAtOrBehind(blocks, next.at));
    parts.push({ key: keyOf(seam), protocol, seam, blocks: blocks.slice(from, to) });
    protocol = next.protocol;
    seam = next;
    from = to;
  }
  parts.push({ key: keyOf(seam), protocol, seam, blocks: blocks.slice(from) });
  return parts;
}

/** The first block that begins behind the seam, or at it. */
function firstAtOrBehind(blocks: readonly Block[], at: number): number {
  const index = blocks.findIndex(({ start }) => start >= at);
  return index < 0 ? blocks.length : index;
}

function keyOf(seam: Seam | null): string {
  return seam ? `${seam.at}/${seam.time}` : "first";
}
