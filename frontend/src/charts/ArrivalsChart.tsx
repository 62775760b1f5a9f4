// When the events of several answers came, on one time axis: a line an event, a ring the end.
import { memo } from "react";
import type { Protocol } from "../stream/transport";
import { MarkAt } from "./MarkAt";
import { halfPixel, secondsFor, spanFor } from "./scale";
import { useWidth } from "./useWidth";

export interface Arrivals {
  readonly protocol: Protocol;
  readonly name: string;
  /** Milliseconds since the request. */
  readonly times: readonly number[];
  readonly endMs: number | null;
}

/** Below this width names make room for the lines, and the marks stand alone. */
const NARROW = 560;
const RIGHT = 8;
const WIDE_BOX = { left: 96, lane: 66, inset: 13 };
const NARROW_BOX = { left: 20, lane: 36, inset: 8 };
const AXIS = 26;
const RING = 3;

interface Box {
  readonly left: number;
  readonly lane: number;
  readonly inset: number;
}

export function ArrivalsChart({ lanes, sentence }: { lanes: readonly Arrivals[]; sentence: string }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const box = width < NARROW ? NARROW_BOX : WIDE_BOX;
  const height = lanes.length * box.lane;
  const span = spanFor(Math.max(0, ...lanes.map(({ times, endMs }) => endMs ?? times.at(-1) ?? 0)));
  return (
    <div ref={ref} className="arrivals">
      <svg className="chart" width={width} height={height + AXIS} role="img" aria-label={sentence}>
        {width > 0 && (
          <>
            <TimeGrid span={span} width={width} height={height} box={box} />
            {lanes.map((lane, row) => (
              <Lane key={lane.protocol} {...lane} row={row} span={span} width={width} box={box} />
            ))}
          </>
        )}
      </svg>
    </div>
  );
}

const TimeGrid = memo(function TimeGrid(props: { span: number; width: number; height: number; box: Box }) {
  const { span, width, height, box } = props;
  const room = width - box.left - RIGHT;
  const seconds = secondsFor(span, room);
  return seconds.map((second, n) => {
    const x = box.left + (second * 1000 * room) / span;
    const last = n === seconds.length - 1;
    return (
      <g key={second}>
        <line className="grid" x1={x} x2={x} y1="0" y2={height} />
        <text x={x} y={height + 20} textAnchor={last ? "end" : "middle"}>
          {last ? `${second} s` : second}
        </text>
      </g>
    );
  });
});

interface LaneProps extends Arrivals {
  readonly row: number;
  readonly span: number;
  readonly width: number;
  readonly box: Box;
}

function Lane({ protocol, name, times, endMs, row, span, width, box }: LaneProps) {
  const top = row * box.lane;
  const middle = top + box.lane / 2;
  const scale = (width - box.left - RIGHT) / span;
  return (
    <>
      {row > 0 && <line className="grid" x1="0" x2={width} y1={top} y2={top} />}
      <g data-p={protocol}>
        <MarkAt protocol={protocol} x={0} y={middle - 5} />
        {box === WIDE_BOX && (
          <text className="lab" x="17" y={middle + 4}>
            {name}
          </text>
        )}
        <path
          className="tick"
          d={linesFor(times, box.left, scale, top + box.inset, top + box.lane - box.inset)}
        />
        {endMs !== null && <End x={ringPlace(endMs, times, box.left, scale)} y={middle} />}
      </g>
    </>
  );
}

function End({ x, y }: { x: number; y: number }) {
  return <circle className="end" cx={x} cy={y} r={RING} />;
}

/** One path for all lines; of those that fall on the same half pixel, which could not be told apart, only one. */
export function linesFor(
  times: readonly number[],
  left: number,
  scale: number,
  from: number,
  to: number,
): string {
  let path = "";
  let drawn = Number.NaN;
  for (const time of times) {
    const x = halfPixel(left + time * scale);
    if (x === drawn) continue;
    drawn = x;
    path += `M${x} ${from}V${to}`;
  }
  return path;
}

/** The end comes with the last line or right after it: its ring stands beside that line, not on it. */
function ringPlace(endMs: number, times: readonly number[], left: number, scale: number): number {
  const newest = times.at(-1) ?? 0;
  return left + Math.max(endMs * scale, newest * scale + RING + 2);
}
