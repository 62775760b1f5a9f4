// The numbers behind the chart of gaps.

import type { TimedEvent } from "../app/recordings";
import type { Connection } from "../stream/run";
import type { Protocol } from "../stream/transport";

export interface GapChart {
  /** The axis's end, and the lines of its grid, in milliseconds. */
  readonly top: number;
  readonly grid: readonly number[];
  /** Bars [x, ms] by the protocol that brought them. */
  readonly ticks: readonly {
    key: string;
    protocol: Protocol;
    bars: readonly (readonly [number, number])[];
  }[];
  readonly longest: number;
  readonly longestSeq: number;
  readonly longestX: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
}

/** More bars than pixels would hide each other: of those that share one the longest is drawn. */
export function gapChart(
  events: readonly TimedEvent[],
  connections: readonly Connection[],
  width: number,
): GapChart {
  const first = events[0]?.event.seq ?? 0;
  const step = width / Math.max(1, events.length - 1);
  const bars = new Map<Protocol, Map<number, number>>();
  let longest = 0;
  let longestSeq = first;
  let longestX = 0;
  for (let index = 1; index < events.length; index += 1) {
    const { at, event } = events[index] as TimedEvent;
    const ms = at - (events[index - 1] as TimedEvent).at;
    const x = Math.round((index - 0.5) * step * 2) / 2;
    const protocol = carrierOf(event.seq, connections);
    const row = bars.get(protocol) ?? new Map<number, number>();
    bars.set(protocol, row.set(x, Math.max(row.get(x) ?? 0, ms)));
    if (ms <= longest) continue;
    [longest, longestSeq, longestX] = [ms, event.seq, x];
  }
  const unit = niceUnit(longest);
  return {
    top: Math.max(longest, unit * 1.05),
    grid: [0, unit, unit * 2].filter((ms) => ms <= Math.max(longest, unit)),
    ticks: [...bars].map(([protocol, row]) => ({ key: protocol, protocol, bars: [...row] })),
    longest: Math.round(longest),
    longestSeq,
    longestX,
    firstSeq: first,
    lastSeq: events.at(-1)?.event.seq ?? first,
  };
}

function carrierOf(seq: number, connections: readonly Connection[]): Protocol {
  const carrier = connections.findLast(({ firstSeq }) => firstSeq !== undefined && firstSeq <= seq);
  return carrier?.protocol ?? connections[0]?.protocol ?? "sse";
}

/** 1, 2 or 5 times a power of ten, so that one or two lines lie below the longest. */
function niceUnit(longest: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, longest)));
  const lead = longest / power;
  if (lead >= 5) return 5 * power;
  if (lead >= 4) return 2 * power;
  return lead >= 2 ? power : Math.max(1, power / 2);
}
