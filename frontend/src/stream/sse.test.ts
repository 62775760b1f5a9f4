// @vitest-environment node
import { afterEach, expect, test, vi } from "vitest";
import { sse } from "./sse.js";
import { all, answerWith, cuts, streamed, untilError } from "./testing/fetch.js";
import { sse as block, ID, joined, logOf, REQUEST } from "./testing/log.js";
import { Broken, type Frame } from "./transport.js";

const TYPE = "text/event-stream; charset=utf-8";
const LOG = logOf();
const HEARTBEAT = { type: "heartbeat" } as const;
const options = () => ({ base: "", signal: new AbortController().signal });
const encode = (text: string) => new TextEncoder().encode(text);

afterEach(() => vi.unstubAllGlobals());

test("an answer is the same however its bytes are cut, whatever ends its lines", async () => {
  const messages = [LOG[0] as never, HEARTBEAT, ...LOG.slice(1)];
  for (const eol of ["\n", "\r\n", "\r"]) {
    for (const chunks of cuts(joined(messages.map((message) => block(message, true, eol))))) {
      answerWith(streamed(TYPE, chunks));
      expect(await all(sse.start(REQUEST, options()))).toEqual(messages);
    }
  }
});

test("the last event comes without a byte behind it, also when lines end with CR", async () => {
  const endless = new ReadableStream({
    start: (controller) => controller.enqueue(joined(LOG.map((e) => block(e, false, "\r")))),
  });
  answerWith(() => new Response(endless, { headers: { "content-type": TYPE } }));
  expect(await all(sse.follow(ID, null, options()))).toEqual(LOG);
});

test("a BOM, comments, retry lines, data on several lines and fields we do not know do no harm", async () => {
  const [first = "", second = ""] = JSON.stringify(LOG[0]).split(/(?<=,)(?="model")/);
  const odd = `\ufeff: hello\n\n: notice {}\nretry: 200\nid: 0\nodd: x\ndata: ${first}\ndata:${second}\n\n`;
  answerWith(streamed(TYPE, [encode(odd), ...LOG.slice(1).map((event) => block(event))]));
  expect(await all(sse.start(REQUEST, options()))).toEqual(LOG);
});

test("a body that ends early is broken", async () => {
  const whole = joined(LOG.map((event) => block(event)));
  for (let length = 1; length < whole.length - 1; length += 7) {
    answerWith(streamed(TYPE, [whole.subarray(0, length)]));
    const [messages, error] = await untilError(sse.follow(ID, null, options()));
    expect(error).toBeInstanceOf(Broken);
    expect(messages).toEqual(LOG.slice(0, messages.length));
  }
});

test("204 is the end of the log", async () => {
  const asked = answerWith(() => new Response(null, { status: 204 }));
  expect(await all(sse.follow(ID, 9, options()))).toEqual([]);
  expect(asked[0]?.url).toBe("/v1/streams/gen_test?after=9");
  expect(asked[0]?.headers.get("accept")).toBe("text/event-stream");
});

test("bytes that are no UTF-8 are broken", async () => {
  answerWith(streamed(TYPE, [encode("data: "), Uint8Array.of(0xff), encode("\n\n")]));
  expect((await untilError(sse.follow(ID, 0, options())))[1]).toBeInstanceOf(Broken);
});

test("frames are blocks with their framing, heartbeats too", async () => {
  const frames: Frame[] = [];
  const messages = [LOG[0] as never, HEARTBEAT, ...LOG.slice(1)];
  const bytes = joined(messages.map((message) => block(message)));
  answerWith(streamed(TYPE, cuts(bytes)[0] ?? []));
  await all(sse.start(REQUEST, { ...options(), onFrame: (frame) => frames.push(frame) }));
  const events = frames.slice(2);
  expect(joined(events.map((frame) => frame.bytes))).toEqual(bytes);
  expect(events.map(({ message }) => message)).toEqual(messages);
});
