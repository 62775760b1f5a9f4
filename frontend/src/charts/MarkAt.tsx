// The protocols' marks inside a drawing: the same shapes as ui/Mark, 10 px wide, with their upper left corner at x, y.
import type { Protocol } from "../stream/transport";

const SHAPES: Readonly<Record<Protocol, string>> = {
  rest: "M2 1h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-6a1 1 0 0 1-1-1v-6a1 1 0 0 1 1-1z",
  sse: "M5 .6a4.4 4.4 0 1 0 0 8.8a4.4 4.4 0 1 0 0-8.8z",
  websocket: "M5 0l5 5-5 5-5-5z",
  grpcweb: "M5 .6l5 8.8H0z",
};

export function MarkAt({ protocol, x, y }: { protocol: Protocol; x: number; y: number }) {
  return <path d={SHAPES[protocol]} transform={`translate(${x} ${y})`} fill="var(--p)" />;
}
