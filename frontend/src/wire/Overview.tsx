// The whole answer in a strip: a line an event, in the hue of the protocol that carried it, and a brush over the part
// that the list shows, which can be dragged and moved by the arrow keys.
import type { KeyboardEvent, PointerEvent } from "react";
import { linesFor } from "../charts/ArrivalsChart";
import { secondsFor } from "../charts/scale";
import { useWidth } from "../charts/useWidth";
import { useDictionary } from "../i18n/language";
import { WIRE_WORDS } from "../i18n/wire";
import type { Protocol } from "../stream/transport";
import { PROTOCOLS } from "../stream/transport";
import type { FrameRow, Row } from "./rows";

interface Props {
  readonly rows: readonly Row[];
  readonly spanMs: number;
  readonly sight: readonly [number, number] | null;
  readonly sentence: string;
  /** Bring what came at that time into sight. */
  readonly onSeek: (ms: number) => void;
  /** A page back or on. */
  readonly onPage: (pages: -1 | 1) => void;
}

const HEIGHT = 54;
const LINES = 36;
const LEFT = 1;
const LEAST_BRUSH = 8;
const ROOM = 56;

export function Overview({ rows, spanMs, sight, sentence, onSeek, onPage }: Props) {
  const words = useDictionary(WIRE_WORDS);
  const [ref, width] = useWidth<HTMLDivElement>();
  const scale = (width - LEFT) / spanMs;
  const seek = (event: PointerEvent<HTMLDivElement>) => {
    if (event.buttons !== 1) return;
    const { left } = event.currentTarget.getBoundingClientRect();
    onSeek((event.clientX - left - LEFT) / scale);
  };
  const keys = (event: KeyboardEvent) => {
    const pages = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 } as const;
    const page = pages[event.key as keyof typeof pages];
    if (page === undefined) return;
    event.preventDefault();
    onPage(page);
  };
  return (
    <div
      className="strip"
      ref={ref}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        seek(event);
      }}
      onPointerMove={seek}
    >
      <svg className="chart" width={width} height={HEIGHT} role="img" aria-label={sentence}>
        {width > 0 && <Lines rows={rows} spanMs={spanMs} width={width} scale={scale} />}
      </svg>
      {sight && width > 0 && (
        <div
          className="brush"
          role="slider"
          tabIndex={0}
          aria-label={words.visible}
          aria-valuemin={0}
          aria-valuemax={Math.round(spanMs)}
          aria-valuenow={Math.round(sight[0])}
          aria-valuetext={words.visibleRange((sight[0] / 1000).toFixed(1), (sight[1] / 1000).toFixed(1))}
          style={{
            left: LEFT + sight[0] * scale - 1,
            width: Math.max(LEAST_BRUSH, (sight[1] - sight[0]) * scale + 2),
          }}
          onKeyDown={keys}
        />
      )}
    </div>
  );
}

function Lines({
  rows,
  spanMs,
  width,
  scale,
}: {
  rows: readonly Row[];
  spanMs: number;
  width: number;
  scale: number;
}) {
  const events = rows.filter((row): row is FrameRow => row.kind === "frame" && row.seq !== null);
  return (
    <>
      {secondsFor(spanMs, width, ROOM).map((second) => (
        <g key={second}>
          <line
            className="grid"
            x1={LEFT + second * 1000 * scale}
            x2={LEFT + second * 1000 * scale}
            y1="0"
            y2={LINES}
          />
          <text x={LEFT + second * 1000 * scale} y="50" textAnchor={anchorOf(second * 1000 * scale, width)}>
            {second === 0 ? "0 s" : second}
          </text>
        </g>
      ))}
      {PROTOCOLS.map((protocol) => (
        <path
          key={protocol}
          className="tick"
          data-p={protocol}
          d={linesFor(timesOf(events, protocol), LEFT, scale, 4, 32)}
        />
      ))}
    </>
  );
}

function timesOf(events: readonly FrameRow[], protocol: Protocol): number[] {
  return events.filter(({ frame }) => frame.protocol === protocol).map(({ atMs }) => atMs);
}

/** Numbers at the edges stay inside. */
function anchorOf(x: number, width: number): "start" | "middle" | "end" {
  if (x < LEAST_BRUSH) return "start";
  return x > width - LEAST_BRUSH ? "end" : "middle";
}
