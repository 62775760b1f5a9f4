// Server-sent events by the browser's own EventSource, in place of sse.ts. It shows neither bytes nor statuses nor
// heartbeats, and only events whose name one listens for: a type we do not know would be a hole in the log.

import { endsCall, type Message } from "./event.js";
import { at, followCall, followPath, open, startCall } from "./http.js";
import { parse, toMessage } from "./message.js";
import { Queue } from "./queue.js";
import { Broken, type Options, type Transport } from "./transport.js";

const NAMES = [
  "started",
  "text",
  "reasoning",
  "refusal",
  "tool_call",
  "notice",
  "finished",
  "failed",
  "come_back",
  "lost",
] as const;
const utf8 = new TextEncoder();

export const eventsource: Transport = {
  protocol: "sse",
  mute: true,
  // Started so, a generation that names no on_disconnect is `continue`, not `grace` (docs/protocol.md).
  async *start(request, options) {
    const response = await open("sse", startCall(request, options, { Prefer: "respond-async" }), options);
    const id: unknown = parse(await response.text()).id;
    if (typeof id !== "string") throw new Broken("a start without an id");
    yield* follow(id, null, options);
  },
  follow,
};

async function* follow(id: string, after: number | null, options: Options): AsyncGenerator<Message> {
  options.signal.throwIfAborted();
  const path = followPath(id, after);
  const heard = new Queue<string>();
  const source = new EventSource(at(options.base, path));
  const tell = (direction: "in" | "out", more: { head?: string; bytes?: Uint8Array; message?: Message }) =>
    options.onFrame?.({
      at: performance.now(),
      protocol: "sse",
      direction,
      bytes: new Uint8Array(),
      ...more,
    });
  tell("out", { head: `EventSource ${path}` });

  const listening = new AbortController();
  const { signal } = listening;
  const listen = ({ data }: MessageEvent<string>) => heard.push(data);
  let opened = false;
  options.signal.addEventListener("abort", () => heard.end(options.signal.reason), { signal });
  for (const name of NAMES) source.addEventListener(name, listen, { signal });
  source.addEventListener(
    "open",
    () => {
      opened = true;
      tell("in", { head: "open" });
    },
    { signal },
  );
  source.addEventListener(
    "error",
    () => {
      // It would reconnect by itself, which is for resume.ts to do.
      source.close();
      heard.end(new Broken("the event source broke"));
    },
    { signal },
  );

  try {
    for await (const data of heard) {
      options.signal.throwIfAborted();
      const message = toMessage(parse(data));
      tell("in", {
        bytes: options.onFrame ? utf8.encode(data) : new Uint8Array(),
        ...(message && { message }),
      });
      if (message === null) continue;
      yield message;
      if (endsCall(message)) return;
    }
  } catch (error) {
    if (opened || options.signal.aborted) throw error;
    // It does not say why: ask again in a way that does.
    if (await isAtEnd(id, after, options)) return;
    throw error;
  } finally {
    listening.abort();
    source.close();
  }
}

async function isAtEnd(id: string, after: number | null, options: Options): Promise<boolean> {
  const response = await open("sse", followCall(id, after, { Accept: "text/event-stream" }), options);
  void response.body?.cancel().catch(() => {});
  return response.status === 204;
}
