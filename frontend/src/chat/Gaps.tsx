// The silence before each event, a line an event, in the hue of the connection that brought it.

import { memo, useEffect, useState } from "react";
import { afterFrame } from "../app/frames";
import { recordings } from "../app/recordings";
import { useWords } from "../i18n/language";
import { type GapChart, gapChart } from "./gapChart";

const EVERY_MS = 100;
const WIDTH = 296;
const HEIGHT = 112;
const LEFT = 28;
const FLOOR = 94;
const TOP = 21;

/** Nothing where this page has not seen the events come. */
export function Gaps({ answerId }: { readonly answerId: string }) {
  const words = useWords();
  const count = useEventCount(answerId);
  const { events = [], run = null } = recordings.get(answerId) ?? {};
  if (count < 3) return null;
  const chart = gapChart(events.slice(0, count), run?.connections ?? [], WIDTH - LEFT);
  return (
    <section>
      <h2 className="sub">
        {words.panel.gaps} <small>ms</small>
      </h2>
      <Drawing chart={chart} sentence={words.panel.gapsSentence(chart.longest, chart.longestSeq)} />
    </section>
  );
}

interface DrawingProps {
  readonly chart: GapChart;
  readonly sentence: string;
}

const Drawing = memo(function Drawing({ chart, sentence }: DrawingProps) {
  const y = (ms: number) => FLOOR - (ms / chart.top) * (FLOOR - TOP);
  const longestX = LEFT + chart.longestX;
  const isRight = longestX > WIDTH - 48;
  return (
    <svg className="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={sentence}>
      {chart.grid.map((ms) => (
        <g key={ms}>
          <line className="grid" x1={LEFT} x2={WIDTH} y1={y(ms)} y2={y(ms)} />
          <text x={LEFT - 6} y={y(ms) + 4} textAnchor="end">
            {ms}
          </text>
        </g>
      ))}
      {chart.ticks.map(({ key, protocol, bars }) => (
        <path key={key} className="tick" data-p={protocol} d={path(bars, y)} />
      ))}
      <text
        className="lab"
        x={longestX + (isRight ? -5 : 5)}
        y={y(chart.longest) + 9}
        textAnchor={isRight ? "end" : "start"}
      >
        {chart.longest}
      </text>
      <text x={LEFT} y={HEIGHT - 3}>
        {chart.firstSeq}
      </text>
      {longestX > LEFT + 30 && longestX < WIDTH - 48 && (
        <text x={longestX} y={HEIGHT - 3} textAnchor="middle">
          {chart.longestSeq}
        </text>
      )}
      <text x={WIDTH} y={HEIGHT - 3} textAnchor="end">
        {chart.lastSeq}
      </text>
    </svg>
  );
});

function path(bars: readonly (readonly [number, number])[], y: (ms: number) => number): string {
  return bars
    .map(([x, ms]) => `M${(LEFT + x).toFixed(1)} ${FLOOR}V${Math.min(FLOOR - 1, y(ms)).toFixed(1)}`)
    .join("");
}

/** How many events there are, ten times a second while they come. */
function useEventCount(answerId: string): number {
  const [count, setCount] = useState(() => recordings.get(answerId)?.events.length ?? 0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = () => {
      timer = undefined;
      setCount(recordings.get(answerId)?.events.length ?? 0);
    };
    const left = recordings.subscribe(() => {
      timer ??= setTimeout(() => afterFrame(read), EVERY_MS);
    });
    return () => {
      left();
      clearTimeout(timer);
    };
  }, [answerId]);
  return count;
}
