// REST: fetch, and an event a line (NDJSON).

import { Lines } from "./cutter.js";
import type { Message } from "./event.js";
import { type Form, followCall, messages, startCall } from "./http.js";
import { parse, toMessage } from "./message.js";
import type { Transport } from "./transport.js";

const TYPE = "application/x-ndjson";
const ACCEPT = { Accept: TYPE };

export const rest: Transport = {
  protocol: "rest",
  start: (request, options) => messages("rest", startCall(request, options, ACCEPT), lines(), options, false),
  follow: (id, after, options) => messages("rest", followCall(id, after, ACCEPT), lines(), options, true),
};

function lines(): Form {
  return { type: TYPE, cutter: new Lines(), read: readLine };
}

function readLine(line: Uint8Array): Message | null {
  // Cut at LF only and read as JSON, U+2028 within a line and a CR at its end are harmless; TextDecoder drops a BOM.
  return isBlank(line) ? null : toMessage(parse(line));
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x0a || byte === 0x0d || byte === 0x20);
}
