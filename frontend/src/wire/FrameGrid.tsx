// The frames as a grid that arrow keys walk: one stop for Tab, the active row named by aria-activedescendant.
// biome-ignore-all lint/a11y/useSemanticElements: a table whose rows come and go, laid out anew on phones, is no <table>
import type { KeyboardEvent } from "react";
import { useDictionary } from "../i18n/language";
import { WIRE_WORDS } from "../i18n/wire";
import { GridRow } from "./GridRow";
import type { Row } from "./rows";
import type { FrameList } from "./useFrameList";

interface Props {
  readonly rows: readonly Row[];
  readonly frames: FrameList;
  /** Index of the selected row, -1: none. */
  readonly selected: number;
  readonly phone: boolean;
  readonly onSelect: (index: number) => void;
  /** Enter or a click: show it, where it is not shown anyhow. */
  readonly onOpen: (index: number) => void;
}

const PAGE = 20;

export function FrameGrid({ rows, frames, selected, phone, onSelect, onOpen }: Props) {
  const words = useDictionary(WIRE_WORDS);
  const { box, list, covered, onScroll } = frames;
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && selected >= 0) onOpen(selected);
    const next = stepFor(event.key, rows, selected);
    if (next === null) return;
    event.preventDefault();
    onSelect(next);
  };
  return (
    <div
      className="frames"
      ref={box}
      role="grid"
      aria-label={words.frames}
      aria-rowcount={rows.length + 1}
      aria-colcount={6}
      aria-activedescendant={selected >= 0 ? rowId(selected) : undefined}
      tabIndex={0}
      onKeyDown={keys}
      onScroll={onScroll}
    >
      <div className="columns" role="row" aria-rowindex={1} tabIndex={-1}>
        {words.columns.map((name) => (
          <span key={name} role="columnheader" tabIndex={-1}>
            {name}
          </span>
        ))}
      </div>
      <div className="rows" role="rowgroup" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          return (
            row && (
              <GridRow
                key={index}
                row={row}
                id={rowId(index)}
                index={index}
                top={start - covered}
                selected={index === selected}
                measure={phone ? list.measureElement : undefined}
                onOpen={onOpen}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

function rowId(index: number): string {
  return `frame-${index}`;
}

/** Where a key leads from here: to another frame, past heads and cuts; null: it is not for us. */
export function stepFor(key: string, rows: readonly Row[], from: number): number | null {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: PAGE,
    PageUp: -PAGE,
    Home: -rows.length,
    End: rows.length,
  };
  const step = steps[key];
  if (step === undefined) return null;
  const frames = rows.flatMap((row, index) => (row.kind === "frame" ? [index] : []));
  if (frames.length === 0) return null;
  const place = frames.findLastIndex((index) => index <= from);
  return frames[Math.min(frames.length - 1, Math.max(0, place + step))] ?? null;
}
