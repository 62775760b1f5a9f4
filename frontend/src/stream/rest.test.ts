// @vitest-environment node
import { afterEach, expect, test, vi } from "vitest";
import { rest } from "./rest.js";
import { all, answerWith, cuts, streamed, untilError } from "./testing/fetch.js";
import { ID, joined, logOf, ndjson, REQUEST } from "./testing/log.js";
import { Broken, type Frame, Refused } from "./transport.js";

const TYPE = "application/x-ndjson";
const LOG = logOf();
const options = () => ({ base: "http://door/", signal: new AbortController().signal });
const encode = (text: string) => new TextEncoder().encode(text);

afterEach(() => vi.unstubAllGlobals());

test("an answer is the same however its bytes are cut", async () => {
  for (const raw of [false, true]) {
    for (const chunks of cuts(joined(LOG.map((event) => ndjson(event, raw))))) {
      answerWith(streamed(TYPE, chunks));
      expect(await all(rest.start(REQUEST, options()))).toEqual(LOG);
    }
  }
});

test("CRLF, a BOM, blank lines and heartbeats do no harm", async () => {
  const lines = LOG.map((event) => `${JSON.stringify(event)}\r\n`).join('\n{"type":"heartbeat"}\r\n');
  answerWith(streamed(TYPE, [encode(`\ufeff${lines}`)]));
  const messages = await all(rest.start(REQUEST, options()));
  expect(messages.filter((message) => message.type !== "heartbeat")).toEqual(LOG);
  expect(messages.length).toBe(2 * LOG.length - 1);
});

test("a start and a follow ask as the protocol says", async () => {
  const asked = answerWith(
    streamed(
      TYPE,
      LOG.map((event) => ndjson(event)),
    ),
  );
  await all(rest.start(REQUEST, { ...options(), idempotencyKey: "k" }));
  await all(rest.follow("gen a", null, options()));
  await all(rest.follow(ID, 0, options()));
  expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "POST http://door/v1/streams",
    "GET http://door/v1/streams/gen%20a",
    "GET http://door/v1/streams/gen_test?after=0",
  ]);
  expect(asked[0]?.headers.get("idempotency-key")).toBe("k");
  expect(asked[0]?.headers.get("accept")).toBe(TYPE);
  expect(asked[0]?.body).toBe(JSON.stringify(REQUEST));
});

test("a body that ends anywhere before its end is broken, and what was whole is told", async () => {
  const whole = joined(LOG.map((event) => ndjson(event)));
  for (const breaks of [false, true]) {
    for (let length = 1; length < whole.length; length += 7) {
      answerWith(streamed(TYPE, [whole.subarray(0, length)], breaks));
      const [messages, error] = await untilError(rest.follow(ID, null, options()));
      expect(error).toBeInstanceOf(Broken);
      expect(messages).toEqual(LOG.slice(0, messages.length));
      expect(messages.length).toBe(whole.subarray(0, length).filter((byte) => byte === 10).length);
    }
  }
});

test("an empty answer to a follow is the end of the log, to a start it is broken", async () => {
  answerWith(() => new Response(null));
  expect(await all(rest.follow(ID, 9, options()))).toEqual([]);
  answerWith(streamed(TYPE, []));
  expect(await all(rest.follow(ID, 9, options()))).toEqual([]);
  expect((await untilError(rest.start(REQUEST, options())))[1]).toBeInstanceOf(Broken);
});

test("come_back and lost end an answer", async () => {
  const comeBack = { type: "come_back", retry_after_ms: 200, reason: "drain" } as const;
  for (const last of [comeBack, { type: "lost", after: 3 } as const]) {
    answerWith(streamed(TYPE, [ndjson(last), ndjson(LOG[0] as never)]));
    expect(await all(rest.follow(ID, 3, options()))).toEqual([last]);
  }
});

test("unknown events keep their place, unknown signals are ignored", async () => {
  const [started, ...others] = LOG;
  const news = '{"seq":1,"type":"image","url":"x"}\n{"type":"weather","sun":true}\n';
  answerWith(
    streamed(TYPE, [ndjson(started as never), encode(news), ...others.map((event) => ndjson(event))]),
  );
  const messages = await all(rest.start(REQUEST, options()));
  const detail = { seq: 1, type: "image", url: "x" };
  expect(messages).toEqual([started, { seq: 1, type: "notice", kind: "unknown", detail }, ...others]);
});

test("what cannot be read is broken", async () => {
  const wrong = ['{"seq":1', "[]", "null", '{"seq":-1,"type":"text","text":"a"}', '{"seq":1,"type":"text"}'];
  for (const line of [...wrong, '{"type":"come_back"}', '{"seq":1,"type":"finished","events":2}']) {
    answerWith(streamed(TYPE, [encode(`${line}\n`)]));
    expect((await untilError(rest.follow(ID, 0, options())))[1], line).toBeInstanceOf(Broken);
  }
  answerWith(streamed(TYPE, [Uint8Array.of(0x22, 0xff, 0x22, 0x0a)]));
  expect((await untilError(rest.follow(ID, 0, options())))[1]).toBeInstanceOf(Broken);
  answerWith(streamed("text/html", [encode("<p>Please log in to this network")]));
  expect((await untilError(rest.follow(ID, 0, options())))[1]).toBeInstanceOf(Broken);
});

test("errors come as Refused with the server's code and wait", async () => {
  const error = { code: "rate_limited", message: "Slow down.", retryable: true, param: "x" };
  const headers = { "retry-after": "3" };
  answerWith(() => Response.json({ error }, { status: 429, headers }));
  const [, refused] = await untilError(rest.start(REQUEST, options()));
  expect(refused).toBeInstanceOf(Refused);
  expect(refused).toMatchObject({ ...error, retryAfterMs: 3000 });
});

test("an unreachable server is broken", async () => {
  answerWith(() => Promise.reject(new TypeError("fetch failed")));
  expect((await untilError(rest.start(REQUEST, options())))[1]).toBeInstanceOf(Broken);
});

test("the wire can be looked at: heads, and each event's bytes with its framing", async () => {
  const frames: Frame[] = [];
  answerWith(streamed(TYPE, cuts(joined(LOG.map((event) => ndjson(event))))[0] ?? []));
  await all(rest.start(REQUEST, { ...options(), onFrame: (frame) => frames.push(frame) }));
  const [asked, head, ...events] = frames;
  expect(asked).toMatchObject({
    direction: "out",
    head: "POST /v1/streams",
    bytes: encode(JSON.stringify(REQUEST)),
  });
  expect(head).toMatchObject({ direction: "in", head: `200 ${TYPE}` });
  expect(events.map(({ bytes }) => bytes)).toEqual(LOG.map((event) => ndjson(event)));
  expect(events.map(({ message }) => message)).toEqual(LOG);
  expect(frames.every(({ protocol, at }) => protocol === "rest" && at > 0)).toBe(true);
});

test("the body's reader is released when an answer is left", async () => {
  const cancel = vi.fn();
  const body = () =>
    new ReadableStream({ start: (controller) => controller.enqueue(ndjson(LOG[0] as never)), cancel });
  answerWith(() => new Response(body(), { headers: { "content-type": TYPE } }));
  for await (const _ of rest.start(REQUEST, options())) break;
  expect(cancel).toHaveBeenCalledOnce();
});
