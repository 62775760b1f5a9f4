// One row: a frame, the head of a connection, or what cut the one before.
// biome-ignore-all lint/a11y/useSemanticElements: a table whose rows come and go, laid out anew on phones, is no <table>
import { memo } from "react";
import { useDictionary } from "../i18n/language";
import { WIRE_WORDS, type WireWords } from "../i18n/wire";
import { Icon } from "../ui/Icon";
import { ProtocolName } from "../ui/Mark";
import { bytesOnWire } from "./framing";
import { piecesOf } from "./raw";
import type { CutRow, FrameRow, HeadRow, Row } from "./rows";

interface Props {
  readonly row: Row;
  readonly id: string;
  readonly index: number;
  readonly top: number;
  readonly selected: boolean;
  readonly measure: ((element: HTMLDivElement | null) => void) | undefined;
  readonly onOpen: (index: number) => void;
}

/** A pixel for 4 ms, and no longer than its column. */
const MS_PER_PIXEL = 4;
const GAP_WIDTH = 56;

export const GridRow = memo(function GridRow({ row, id, index, top, selected, measure, onOpen }: Props) {
  const words = useDictionary(WIRE_WORDS);
  const protocol = row.kind === "cut" ? undefined : row.kind === "head" ? row.protocol : row.frame.protocol;
  const frame = row.kind === "frame";
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys
    <div
      ref={measure}
      id={id}
      className={selected ? `row ${row.kind} sel` : `row ${row.kind}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={frame ? selected : undefined}
      tabIndex={-1}
      data-index={index}
      data-p={protocol}
      style={{ transform: `translateY(${top}px)` }}
      onClick={frame ? () => onOpen(index) : undefined}
    >
      {row.kind === "frame" && <FrameCells row={row} words={words} />}
      {row.kind === "head" && <HeadCell row={row} />}
      {row.kind === "cut" && <CutCell row={row} words={words} />}
    </div>
  );
});

function FrameCells({ row, words }: { row: FrameRow; words: WireWords }) {
  const { frame, atMs, gapMs, seq, type } = row;
  const sent = frame.direction === "out";
  return (
    <>
      <Cell name="num tm">{(atMs / 1000).toFixed(3)}</Cell>
      <Cell name="num gp">
        {gapMs === null ? "" : `${Math.round(gapMs)} ms`}
        <span className="gap-bar">
          {gapMs !== null && <i className="gap" style={{ width: gapWidth(gapMs) }} />}
        </span>
      </Cell>
      <Cell name="num ev">{seq ?? ""}</Cell>
      <Cell name="ty">
        <span className="dir" aria-hidden="true">
          {sent ? "↑" : "↓"}
        </span>{" "}
        <span className="sr">{sent ? words.sent : words.received}</span> {type}
      </Cell>
      <Cell name="num by">{bytesOnWire(frame)}</Cell>
      <Cell name="raw">
        <Raw row={row} />
      </Cell>
    </>
  );
}

function Raw({ row: { frame } }: { row: FrameRow }) {
  if (frame.bytes.length === 0) return frame.head ?? "";
  let at = 0;
  return piecesOf(frame.bytes).map(({ text, control }) => {
    at += text.length;
    return control ? (
      <span key={at} className="ctl">
        {text}
      </span>
    ) : (
      text
    );
  });
}

function HeadCell({ row }: { row: HeadRow }) {
  return (
    <WideCell>
      <ProtocolName protocol={row.protocol} />
      <span className="mono">{row.text}</span>
    </WideCell>
  );
}

function CutCell({ row, words }: { row: CutRow; words: WireWords }) {
  return (
    <WideCell>
      <Icon name="cut" />
      {words.cut(row.end, row.after, row.gapMs)}
    </WideCell>
  );
}

function Cell({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className={name} role="gridcell" tabIndex={-1}>
      {children}
    </div>
  );
}

function WideCell({ children }: { children: React.ReactNode }) {
  return (
    <div role="gridcell" aria-colspan={6} tabIndex={-1}>
      {children}
    </div>
  );
}

function gapWidth(ms: number): number {
  return Math.min(GAP_WIDTH, Math.round(ms / MS_PER_PIXEL));
}
