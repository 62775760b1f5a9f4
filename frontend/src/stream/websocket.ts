// WebSocket: a socket a call, which starts or follows one answer and is closed behind it.

import { endsCall, type Message } from "./event.js";
import { at, STREAMS } from "./http.js";
import { isObject, parse, toMessage } from "./message.js";
import { Queue } from "./queue.js";
import { Broken, type Options, Refused, type Transport } from "./transport.js";

const SUBPROTOCOL = "polystream.v1";
const REF = "a";
const utf8 = new TextEncoder();

/** Close codes that are an answer: the table's code, and whether it may pass. All others are a broken connection. */
const CLOSED: Readonly<Record<number, readonly [code: string, retryable: boolean]>> = {
  1003: ["invalid_request", false],
  1007: ["invalid_request", false],
  1008: ["forbidden", false],
  1009: ["too_large", false],
  1013: ["overloaded", true],
};

export const websocket: Transport = {
  protocol: "websocket",
  start: (request, options) => {
    const key = options.idempotencyKey === undefined ? {} : { idempotency_key: options.idempotencyKey };
    return messages({ type: "start", ref: REF, request, ...key }, options);
  },
  follow: (id, after, options) =>
    messages({ type: "follow", ref: REF, id, ...(after !== null && { after }) }, options),
};

async function* messages(first: object, options: Options): AsyncGenerator<Message> {
  options.signal.throwIfAborted();
  const heard = new Queue<string>();
  const socket = new WebSocket(address(options.base), SUBPROTOCOL);
  const tell = (direction: "in" | "out", more: { head?: string; bytes?: Uint8Array; message?: Message }) =>
    options.onFrame?.({
      at: performance.now(),
      protocol: "websocket",
      direction,
      bytes: new Uint8Array(),
      ...more,
    });
  tell("out", { head: `WebSocket ${STREAMS} ${SUBPROTOCOL}` });

  // One signal takes off all listeners, the one on the caller's signal too.
  const listening = new AbortController();
  const { signal } = listening;
  options.signal.addEventListener("abort", () => heard.end(options.signal.reason), { signal });
  socket.addEventListener(
    "open",
    () => {
      tell("in", { head: `open ${socket.protocol}`.trimEnd() });
      const text = JSON.stringify(first);
      socket.send(text);
      tell("out", { bytes: utf8.encode(text) });
    },
    { signal },
  );
  socket.addEventListener(
    "message",
    ({ data }: MessageEvent<unknown>) => {
      if (typeof data === "string") heard.push(data);
      else heard.end(new Broken("a binary frame came"));
    },
    { signal },
  );
  socket.addEventListener(
    "close",
    ({ code, reason }) => {
      tell("in", { head: `close ${code} ${reason}`.trimEnd() });
      heard.end(closed(code, reason));
    },
    { signal },
  );

  try {
    for await (const text of heard) {
      options.signal.throwIfAborted();
      const message = read(text);
      tell("in", {
        bytes: options.onFrame ? utf8.encode(text) : new Uint8Array(),
        ...(isMessage(message) && { message }),
      });
      if (message === "end") return;
      if (message instanceof Refused) throw message;
      if (message === null) continue;
      yield message;
      if (endsCall(message)) return;
    }
  } finally {
    listening.abort();
    socket.close();
  }
}

/** The socket's URL: the base with another scheme; without a base the page's own. */
function address(base: string): string {
  const url = new URL(at(base, STREAMS), globalThis.location?.href);
  url.protocol = url.protocol.replace("http", "ws");
  return url.href;
}

/** `end`: a follow found the log ended; null: nothing for us. */
function read(text: string): Message | Refused | "end" | null {
  const fields = parse(text);
  if (fields.type === "status") return "end";
  if (fields.type === "error") return refused(fields.error);
  const { ref: _, ...message } = fields;
  return toMessage(message);
}

function isMessage(value: Message | Refused | "end" | null): value is Message {
  return value !== null && value !== "end" && !(value instanceof Refused);
}

function refused(error: unknown): Refused {
  const { code, message, retryable, param } = isObject(error) ? error : {};
  // Over the other protocols the request is no field of something else.
  const field = typeof param === "string" ? param.replace(/^request\./, "") : undefined;
  return new Refused(String(code), String(message), retryable === true, undefined, field);
}

function closed(code: number, reason: string): Error {
  const known = CLOSED[code];
  if (known === undefined) return new Broken(`the socket closed with ${code} ${reason}`.trimEnd());
  return new Refused(known[0], reason || `The socket closed with ${code}.`, known[1]);
}
