// What the protocols are called; names are the same in every language.
import type { Protocol } from "../stream/transport";

export const NAMES: Readonly<Record<Protocol, string>> = {
  rest: "REST",
  sse: "SSE",
  websocket: "WebSocket",
  grpcweb: "gRPC-Web",
};

/** At the head of a lane, where REST says how it streams. */
export const LONG_NAMES: Readonly<Record<Protocol, string>> = { ...NAMES, rest: "REST stream" };
