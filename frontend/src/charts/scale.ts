// Where a value stands on an axis: the time axis that all lanes share, and the logarithmic one of the gaps.

/** The time axis is fixed when a race starts, and doubles when it is full: what was drawn then moves once, not always. */
export const FIRST_SPAN_MS = 6000;
export const SHORTEST_GAP_MS = 10;
export const LONGEST_GAP_MS = 500;
export const GAP_TICKS: readonly number[] = [10, 25, 50, 100, 250, 500];
const MOST_LINES = 9;

export function spanFor(elapsedMs: number): number {
  let span = FIRST_SPAN_MS;
  while (span < elapsedMs) span *= 2;
  return span;
}

/** Seconds at which a time axis has its lines: steps of 1, 2 or 5, with at least `room` pixels for each. */
export function secondsFor(spanMs: number, width: number, room = 44): number[] {
  const seconds = spanMs / 1000;
  const fitting = Math.max(1, Math.min(MOST_LINES, Math.floor(width / room)));
  const step = stepFor(seconds / fitting);
  const count = Math.floor(seconds / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, n) => Number((n * step).toFixed(6)));
}

/** 0 to 1 on the axis of the gaps; what is shorter or longer than the axis stands at its end. */
export function gapPlace(ms: number): number {
  const held = Math.min(LONGEST_GAP_MS, Math.max(SHORTEST_GAP_MS, ms));
  return Math.log(held / SHORTEST_GAP_MS) / Math.log(LONGEST_GAP_MS / SHORTEST_GAP_MS);
}

/** Half pixels: finer does not show, and events that fall together need one line only. */
export function halfPixel(x: number): number {
  return Math.round(x * 2) / 2;
}

function stepFor(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  return ([1, 2, 5, 10].find((n) => n * power >= atLeast * (1 - 1e-9)) ?? 10) * power;
}
