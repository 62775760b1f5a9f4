// A protocol said twice: by its shape and by its name. The hue comes from data-p (components.css).

import type { Protocol } from "../stream/transport";

export const PROTOCOL_NAMES: Readonly<Record<Protocol, string>> = {
  rest: "REST",
  sse: "SSE",
  websocket: "WebSocket",
  grpcweb: "gRPC-Web",
};

const SHAPES: Readonly<Record<Protocol, React.ReactNode>> = {
  rest: <rect x="1" y="1" width="8" height="8" rx="1" />,
  sse: <circle cx="5" cy="5" r="4.4" />,
  websocket: <path d="M5 0l5 5-5 5-5-5z" />,
  grpcweb: <path d="M5 .6l5 8.8H0z" />,
};

export function Mark({ protocol }: { readonly protocol: Protocol }) {
  return (
    <svg className="mark" viewBox="0 0 10 10" data-p={protocol} aria-hidden="true">
      {SHAPES[protocol]}
    </svg>
  );
}

/** Mark and name. */
export function ProtocolName({ protocol }: { readonly protocol: Protocol }) {
  return (
    <span className="proto">
      <Mark protocol={protocol} />
      {PROTOCOL_NAMES[protocol]}
    </span>
  );
}
