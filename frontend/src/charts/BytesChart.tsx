// Bytes that a token takes on the wire, from zero, with the figure at the bar's end.
import type { Protocol } from "../stream/transport";
import { MarkAt } from "./MarkAt";
import { useWidth } from "./useWidth";

export interface Bytes {
  readonly protocol: Protocol;
  readonly name: string;
  readonly bytesPerToken: number | null;
}

const LEFT = 86;
const RIGHT = 8;
const ROW = 26;
/** The longest bar leaves room for its figure. */
const FULL = 0.8;

export function BytesChart({ lanes, sentence }: { lanes: readonly Bytes[]; sentence: string }) {
  const [ref, width] = useWidth<HTMLDivElement>();
  const height = lanes.length * ROW;
  const most = Math.max(1, ...lanes.map(({ bytesPerToken }) => bytesPerToken ?? 0));
  const scale = ((width - LEFT - RIGHT) * FULL) / most;
  return (
    <div ref={ref}>
      <svg className="chart" width={width} height={height} role="img" aria-label={sentence}>
        {width > 0 && (
          <>
            <line className="axis" x1={LEFT} x2={LEFT} y1="0" y2={height} />
            {lanes.map(({ protocol, name, bytesPerToken }, row) => (
              <g key={protocol} data-p={protocol}>
                <MarkAt protocol={protocol} x={0} y={row * ROW + 8} />
                <text className="lab" x="17" y={row * ROW + 17}>
                  {name}
                </text>
                {bytesPerToken !== null && (
                  <>
                    <rect
                      className="bar-f"
                      x={LEFT}
                      y={row * ROW + 8}
                      width={bytesPerToken * scale}
                      height="10"
                    />
                    <text className="lab" x={LEFT + bytesPerToken * scale + 8} y={row * ROW + 17}>
                      {Math.round(bytesPerToken)}
                    </text>
                  </>
                )}
              </g>
            ))}
          </>
        )}
      </svg>
    </div>
  );
}
