// Server-sent events over fetch: positions, headers and errors as over REST, and events as EventSource reads them.

import { createParser } from "eventsource-parser";
import { Blocks } from "./cutter.js";
import type { Message } from "./event.js";
import { type Form, followCall, messages, startCall } from "./http.js";
import { parse, toMessage } from "./message.js";
import { Broken, type Transport } from "./transport.js";

const TYPE = "text/event-stream";
const ACCEPT = { Accept: TYPE };

export const sse: Transport = {
  protocol: "sse",
  start: (request, options) => messages("sse", startCall(request, options, ACCEPT), blocks(), options, false),
  follow: (id, after, options) => messages("sse", followCall(id, after, ACCEPT), blocks(), options, true),
};

function blocks(): Form {
  // A block is whole when it is decoded, so no character is cut; the decoder drops a BOM before the first.
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  let found: Message | null = null;
  const parser = createParser({
    onEvent: ({ data }) => {
      found = toMessage(parse(data));
    },
    onComment: (comment) => {
      if (comment.trim() === "heartbeat") found = { type: "heartbeat" };
    },
  });
  const read = (block: Uint8Array): Message | null => {
    found = null;
    parser.feed(decode(utf8, block));
    return found;
  };
  return { type: TYPE, cutter: new Blocks(), read };
}

function decode(utf8: TextDecoder, block: Uint8Array): string {
  try {
    return utf8.decode(block);
  } catch {
    throw new Broken("is no UTF-8");
  }
}
