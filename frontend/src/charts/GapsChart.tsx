// The gaps between the events of several answers, on a logarithmic axis: the bar is the middle 90 %, the notch in it
// the median, the thin line reaches to the longest.
import type { Protocol } from "../stream/transport";
import type { Spread } from "./gaps";
import { MarkAt } from "./MarkAt";
import { GAP_TICKS, gapPlace, LONGEST_GAP_MS } from "./scale";
import { useWidth } from "./useWidth";

export interface Gaps {
  readonly protocol: Protocol;
  readonly name: string;
  readonly spread: Spread | null;
}

const LEFT = 86;
const RIGHT = 8;
const ROW = 30;
const AXIS = 24;
const CAP = 4;

export function GapsChart({ lanes, sentence }: { lanes: readonly Gaps[]; sentence: string }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const height = lanes.length * ROW;
  const at = (ms: number) => LEFT + gapPlace(ms) * (width - LEFT - RIGHT);
  return (
    <div ref={ref}>
      <svg className="chart" width={width} height={height + AXIS} role="img" aria-label={sentence}>
        {width > 0 && (
          <>
            {GAP_TICKS.map((ms) => (
              <g key={ms}>
                <line className="grid" x1={at(ms)} x2={at(ms)} y1="0" y2={height} />
                <text x={at(ms)} y={height + 19} textAnchor={ms === LONGEST_GAP_MS ? "end" : "middle"}>
                  {ms}
                </text>
              </g>
            ))}
            {lanes.map(({ protocol, name, spread }, row) => (
              <g key={protocol} data-p={protocol}>
                <MarkAt protocol={protocol} x={0} y={row * ROW + 10} />
                <text className="lab" x="17" y={row * ROW + 19}>
                  {name}
                </text>
                {spread && <Bar spread={spread} y={row * ROW + ROW / 2} at={at} />}
              </g>
            ))}
          </>
        )}
      </svg>
    </div>
  );
}

function Bar({ spread, y, at }: { spread: Spread; y: number; at: (ms: number) => number }) {
  const [low, median, high, longest] = [spread.low, spread.median, spread.high, spread.longest].map(at) as [
    number,
    number,
    number,
    number,
  ];
  return (
    <>
      <line className="whisk" x1={high} x2={longest} y1={y} y2={y} />
      {/* A gap longer than the axis runs out of it without an end. */}
      {spread.longest <= LONGEST_GAP_MS && (
        <line className="whisk" x1={longest} x2={longest} y1={y - CAP} y2={y + CAP} />
      )}
      {/* A bar of no width could not be seen. */}
      <line className="range" x1={low} x2={Math.max(high, low + 2)} y1={y} y2={y} />
      {high > low + 4 && <line className="mid" x1={median} x2={median} y1={y - CAP} y2={y + CAP} />}
    </>
  );
}
