// The stream package as Chat uses it: SSE by fetch or by the browser's EventSource, as the settings say at the moment
// a connection is made.

import { preferences } from "../app/preferences";
import { eventsource } from "../stream/eventsource";
import { followRun, startRun } from "../stream/resume";
import { sse } from "../stream/sse";
import type { Transport } from "../stream/transport";
import type { Streams } from "./answers";

const chosenSse: Transport = {
  protocol: "sse",
  get mute() {
    return chosen().mute ?? false;
  },
  start: (request, options) => chosen().start(request, options),
  follow: (id, after, options) => chosen().follow(id, after, options),
};

const transports = { sse: chosenSse };

export const streams: Streams = {
  start: (request, options) => startRun(request, { transports, ...options }),
  follow: (id, after, options) => followRun(id, after, { transports, ...options }),
};

function chosen(): Transport {
  return preferences().eventSource ? eventsource : sse;
}
