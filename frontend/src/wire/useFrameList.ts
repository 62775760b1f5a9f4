// The virtual list of rows: only those in sight are in the page, however many there are.
import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef } from "react";
import type { FrameRow, Row } from "./rows";

const HEIGHTS = { head: 36, frame: 28, cut: 34 } as const;
const PHONE_HEIGHTS = { head: 40, frame: 52, cut: 57 } as const;
/** The heads of the columns stick to the upper edge and cover what is below them. */
const COLUMN_HEADS = 32;
const NEAR_END_PX = 48;

export function useFrameList(rows: readonly Row[], selected: number, phone: boolean, live: boolean) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(live);
  const covered = phone ? 0 : COLUMN_HEADS;
  const heights = phone ? PHONE_HEIGHTS : HEIGHTS;
  const list = useVirtualizer<HTMLDivElement, HTMLDivElement>({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => heights[rows[index]?.kind ?? "frame"],
    overscan: 10,
    scrollMargin: covered,
    scrollPaddingStart: covered,
    // The selected row stays, so that what is said to be active is there.
    rangeExtractor: (range) => {
      const shown = defaultRangeExtractor(range);
      return selected < 0 || shown.includes(selected) ? shown : [...shown, selected].sort((a, b) => a - b);
    },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: other heights at another width
  useLayoutEffect(() => list.measure(), [phone]);
  // A running answer is followed until one scrolls up.
  useLayoutEffect(() => {
    if (live && atEnd.current && rows.length > 0) list.scrollToIndex(rows.length - 1, { align: "end" });
  }, [live, rows.length, list]);
  const onScroll = () => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    atEnd.current = scrollHeight - scrollTop - clientHeight <= NEAR_END_PX;
  };
  return { box, list, covered, onScroll };
}

export type FrameList = ReturnType<typeof useFrameList>;

/** The times of the first and the last frame in sight, milliseconds; null when there is none. */
export function sightOf(
  { list, covered }: FrameList,
  rows: readonly Row[],
): readonly [number, number] | null {
  const top = (list.scrollOffset ?? 0) + covered;
  const bottom = (list.scrollOffset ?? 0) + (list.scrollRect?.height ?? 0);
  const seen = list
    .getVirtualItems()
    .filter(({ start, end }) => end > top && start < bottom)
    .flatMap(({ index }): FrameRow[] => {
      const row = rows[index];
      return row?.kind === "frame" ? [row] : [];
    });
  const first = seen[0];
  const last = seen.at(-1);
  return first && last ? [first.atMs, last.atMs] : null;
}

/** The row whose frame came nearest to a time. */
export function rowAt(rows: readonly Row[], ms: number): number {
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  rows.forEach((row, index) => {
    if (row.kind !== "frame" || Math.abs(row.atMs - ms) >= least) return;
    least = Math.abs(row.atMs - ms);
    best = index;
  });
  return best;
}
