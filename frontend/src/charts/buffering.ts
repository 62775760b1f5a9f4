// Does something between the engine and us hold a stream back? Said from the times of the events alone, so it can be
// wrong, and is withdrawn when the events come evenly again. Tuned on traces of nginx: with gzip on the route it gives a
// whole answer at its end, with small buffers it gives bursts.

/** Events nearer than this came out of one buffer: engines are slower, and reads of one flush take less. */
export const TOGETHER_MS = 5;
/** Silences longer than this are no pace of an engine. */
export const SILENCE_MS = 200;
/** So many events are judged, and this share of them must agree. */
export const JUDGED = 50;
const SHARE = 0.8;
const SILENCES = 3;
/** Of the time of the bursts so much must be silence. A fast engine that pauses now and then spends it on events. */
const SILENT_SHARE = 0.9;
/** Events of one buffer come faster than this on the average, those of the fastest engine more slowly. */
const FLUSHED_MS = 1;
/** In a silence of this stream others must have gone on, this far from its ends; else machine or engine paused. */
const INSIDE_MS = 50;
/** So many events one by one over another protocol, before the first over this, say that this one was held back. */
const AHEAD = 20;

/** `bursts`: they come so many milliseconds apart. `whole`: the answer came in one piece, so long after the request. */
export type Buffering =
  | { readonly kind: "bursts"; readonly apartMs: number }
  | { readonly kind: "whole"; readonly afterMs: number };

/**
 * Whether the newest events come in bursts; null when they do not, or again after 50 even events. `others`: when events
 * of streams came that were started with it.
 */
export function burstsOf(
  times: readonly number[],
  others: readonly (readonly number[])[] = [],
): Buffering | null {
  const { together } = countsOf(times);
  const silences = silencesOf(times, others);
  let since: number | null = null;
  let silent = 0;
  for (let n = JUDGED; n < times.length; n++) {
    while (silent < silences.length && (silences[silent] ?? 0) <= n) silent++;
    const from = n - JUDGED;
    const third = silences[silent - SILENCES];
    if (since === null && third !== undefined) {
      const start = Math.min(from, third - 1);
      if (agree(together, from, n) && agree(together, start, n) && mostlySilent(times, silences, start, n))
        since = n;
    } else if (since !== null && n - since >= JUDGED && (silences[silent - 1] ?? 0) <= from) {
      if ((times[n] ?? 0) - (times[from] ?? 0) >= JUDGED * FLUSHED_MS) since = null;
    }
  }
  return since === null ? null : { kind: "bursts", apartMs: apart(times, silences) };
}

/** Whether an answer came late and at once, while `others`, started with it, had long been coming one by one. */
export function heldBack(
  startedAt: number,
  times: readonly number[],
  others: readonly (readonly number[])[],
): Buffering | null {
  const first = times[0];
  const last = times.length - 1;
  if (first === undefined || times.length < AHEAD) return null;
  if (!agree(countsOf(times).together, Math.max(0, last - JUDGED), last)) return null;
  const ahead = others.some((other) => {
    const { even } = countsOf(other.filter((time) => time < first - SILENCE_MS));
    return (even.at(-1) ?? 0) >= AHEAD;
  });
  return ahead ? { kind: "whole", afterMs: first - startedAt } : null;
}

/** Running counts: how many of the gaps up to event n are short, or even. */
function countsOf(times: readonly number[]) {
  const together = [0];
  const even = [0];
  for (let n = 1; n < times.length; n++) {
    const gap = (times[n] ?? 0) - (times[n - 1] ?? 0);
    together.push((together[n - 1] ?? 0) + (gap < TOGETHER_MS ? 1 : 0));
    even.push((even[n - 1] ?? 0) + (gap >= TOGETHER_MS && gap <= SILENCE_MS ? 1 : 0));
  }
  return { together, even };
}

/** Before which events a silence was that is this stream's own. */
function silencesOf(times: readonly number[], others: readonly (readonly number[])[]): number[] {
  const silences: number[] = [];
  for (let n = 1; n < times.length; n++) {
    const from = times[n - 1] ?? 0;
    const to = times[n] ?? 0;
    if (to - from <= SILENCE_MS) continue;
    const wentOn = others.some((other) =>
      other.some((time) => time > from + INSIDE_MS && time < to - INSIDE_MS),
    );
    if (others.length === 0 || wentOn) silences.push(n);
  }
  return silences;
}

function agree(counts: readonly number[], from: number, to: number): boolean {
  return to > from && (counts[to] ?? 0) - (counts[from] ?? 0) >= SHARE * (to - from);
}

function mostlySilent(
  times: readonly number[],
  silences: readonly number[],
  from: number,
  to: number,
): boolean {
  const silence = silences
    .filter((n) => n > from && n <= to)
    .reduce((sum, n) => sum + (times[n] ?? 0) - (times[n - 1] ?? 0), 0);
  return silence >= SILENT_SHARE * ((times[to] ?? 0) - (times[from] ?? 0));
}

/** The median time from one burst to the next. */
function apart(times: readonly number[], silences: readonly number[]): number {
  const starts = silences.map((n) => times[n] ?? 0);
  const between = starts.slice(1).map((start, n) => start - (starts[n] ?? 0));
  return between.sort((a, b) => a - b)[Math.floor(between.length / 2)] ?? 0;
}
