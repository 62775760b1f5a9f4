// Gaps between events, from their times alone. Times are milliseconds in the order of arrival; several events may share
// one, since a read from the network may hold many.

/** The longest gap, the median, and between which gaps the middle 90 % lie; all in milliseconds. */
export interface Spread {
  readonly low: number;
  readonly median: number;
  readonly high: number;
  readonly longest: number;
}

export function gapsOf(times: readonly number[]): number[] {
  return times.slice(1).map((time, before) => time - (times[before] ?? time));
}

/** The value below which the share `q` of the sorted ones lies, interpolated as in NumPy's default. */
export function quantile(sorted: readonly number[], q: number): number {
  const place = (sorted.length - 1) * q;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** null: there is no gap before the second event. */
export function spreadOf(times: readonly number[]): Spread | null {
  if (times.length < 2) return null;
  const sorted = gapsOf(times).sort((a, b) => a - b);
  return {
    low: quantile(sorted, 0.05),
    median: quantile(sorted, 0.5),
    high: quantile(sorted, 0.95),
    longest: sorted.at(-1) ?? 0,
  };
}
