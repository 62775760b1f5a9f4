// @vitest-environment node
import { fromBinary, toJson } from "@bufbuild/protobuf";
import { afterEach, expect, test, vi } from "vitest";
import { FollowRequestSchema, StartRequestSchema } from "../gen/polystream/v1/streams_pb.js";
import type { Event, Message } from "./event.js";
import { grpcweb } from "./grpcweb.js";
import { all, answerWith, cuts, streamed, untilError } from "./testing/fetch.js";
import { grpcweb as frame, ID, joined, logOf, REQUEST, sha256, trailers } from "./testing/log.js";
import { Broken, type Frame, Refused } from "./transport.js";

const TYPE = "application/grpc-web+proto";
const LOG = logOf();
const options = () => ({ base: "http://door", signal: new AbortController().signal });

afterEach(() => vi.unstubAllGlobals());

function body(messages: readonly Message[], end: Uint8Array = trailers(0)): Uint8Array[] {
  return [...messages.map(frame), end];
}

test("an answer is the same however its bytes are cut, looked at or not", async () => {
  for (const chunks of cuts(joined(body(LOG)))) {
    for (const more of [{}, { onFrame: () => {} }]) {
      answerWith(streamed(TYPE, chunks));
      expect(await all(grpcweb.start(REQUEST, { ...options(), ...more }))).toEqual(LOG);
    }
  }
});

test("every kind of event is as over the other protocols", async () => {
  const usage = { input_tokens: 1, output_tokens: 2, cached_tokens: 0, reasoning_tokens: 1 };
  const log: Event[] = [
    { seq: 0, type: "started", id: ID, model: "m", engine: "e", created: 1 },
    { seq: 1, type: "text", text: "a", logprobs: [{ token: "a", logprob: -0.5 }] },
    { seq: 2, type: "reasoning", text: "r" },
    { seq: 3, type: "refusal", text: "n" },
    { seq: 4, type: "tool_call", index: 0, call_id: "c", name: "n", arguments: "" },
    { seq: 5, type: "tool_call", index: 0, arguments: "{}" },
    { seq: 2 ** 20, type: "notice", kind: "takeover", detail: { from: 5 } },
    { seq: 2 ** 20 + 1, type: "notice", kind: "seam", detail: {} },
    {
      seq: 2 ** 20 + 2,
      type: "failed",
      error: { code: "upstream_stalled", message: "m", param: "p", retryable: true },
      usage,
      events: 9,
      sha256: sha256("a"),
    },
  ];
  answerWith(streamed(TYPE, body(log, trailers(14, { reason: "upstream_stalled" }))));
  expect(await all(grpcweb.start(REQUEST, options()))).toEqual(log);
});

test("signals come as over the other protocols, and the status behind them is none of our business", async () => {
  const heartbeat: Message = { type: "heartbeat" };
  for (const last of [
    { type: "come_back", retry_after_ms: 0, reason: "drain" },
    { type: "lost", after: 3 },
  ] as const) {
    answerWith(streamed(TYPE, body([heartbeat, last], trailers(14, { reason: "draining", retryMs: 200 }))));
    expect(await all(grpcweb.follow(ID, 3, options()))).toEqual([heartbeat, last]);
  }
});

test("a start and a follow ask as the protocol says", async () => {
  const asked = answerWith(streamed(TYPE, body(LOG)));
  await all(
    grpcweb.start({ ...REQUEST, max_tokens: 3, seed: 7, stop: ["x"] }, { ...options(), idempotencyKey: "k" }),
  );
  await all(grpcweb.follow(ID, null, options()));
  await all(grpcweb.follow(ID, 0, options()));
  expect(asked.map(({ url }) => url.replace("http://door/polystream.v1.Streams/", ""))).toEqual([
    "Start",
    "Follow",
    "Follow",
  ]);
  expect(asked[0]?.headers.get("idempotency-key")).toBe("k");
  const bodies = asked.map(({ body }) => (body as Uint8Array).subarray(5));
  const start = toJson(StartRequestSchema, fromBinary(StartRequestSchema, bodies[0] as Uint8Array));
  expect(start).toEqual({
    messages: [{ role: "user", content: "Hello" }],
    maxTokens: 3,
    seed: "7",
    stop: ["x"],
  });
  expect(fromBinary(FollowRequestSchema, bodies[1] as Uint8Array).after).toBeUndefined();
  expect(fromBinary(FollowRequestSchema, bodies[2] as Uint8Array)).toMatchObject({ id: ID, after: 0n });
});

test("an answer that ends early is broken", async () => {
  const whole = joined(body(LOG.slice(0, -1)));
  for (let length = 0; length <= whole.length; length += 5) {
    answerWith(streamed(TYPE, [whole.subarray(0, length)], length % 2 === 0));
    const [messages, error] = await untilError(grpcweb.start(REQUEST, options()));
    expect(error).toBeInstanceOf(Broken);
    expect(messages).toEqual(LOG.slice(0, messages.length));
  }
});

test("an empty answer to a follow is the end of the log, to a start it is broken", async () => {
  answerWith(streamed(TYPE, [trailers(0)]));
  expect(await all(grpcweb.follow(ID, 9, options()))).toEqual([]);
  expect((await untilError(grpcweb.start(REQUEST, options())))[1]).toBeInstanceOf(Broken);
});

test("the details of a status make it Refused", async () => {
  answerWith(streamed(TYPE, [trailers(8, { reason: "rate_limited", retryMs: 1500 })]));
  const [, busy] = await untilError(grpcweb.start(REQUEST, options()));
  expect(busy).toBeInstanceOf(Refused);
  expect(busy).toMatchObject({
    code: "rate_limited",
    message: "told so",
    retryable: true,
    retryAfterMs: 1500,
  });
  answerWith(streamed(TYPE, [trailers(3, { reason: "invalid_request", param: "top_p" })]));
  const [, wrong] = await untilError(grpcweb.start(REQUEST, options()));
  expect(wrong).toMatchObject({
    code: "invalid_request",
    retryable: false,
    retryAfterMs: undefined,
    param: "top_p",
  });
});

test("a refusal may stand in the headers", async () => {
  const details =
    new TextDecoder()
      .decode(trailers(5, { reason: "not_found" }))
      .split("bin: ")[1]
      ?.trim() ?? "";
  const headers = { "content-type": TYPE, "grpc-status": "5", "grpc-status-details-bin": details };
  answerWith(() => new Response("", { headers }));
  expect((await untilError(grpcweb.follow(ID, 1, options())))[1]).toMatchObject({
    code: "not_found",
    retryable: false,
  });
});

test("statuses of others are broken connections, unless asking again is useless", async () => {
  answerWith(streamed(TYPE, [trailers(14)]));
  expect((await untilError(grpcweb.start(REQUEST, options())))[1]).toBeInstanceOf(Broken);
  answerWith(streamed(TYPE, [trailers(7)]));
  expect((await untilError(grpcweb.start(REQUEST, options())))[1]).toMatchObject({
    code: "forbidden",
    retryable: false,
  });
  answerWith(
    () => new Response("<h1>Bad gateway", { status: 502, headers: { "content-type": "text/html" } }),
  );
  expect((await untilError(grpcweb.start(REQUEST, options())))[1]).toBeInstanceOf(Broken);
  answerWith(() => Promise.reject(new TypeError("Failed to fetch")));
  expect((await untilError(grpcweb.start(REQUEST, options())))[1]).toBeInstanceOf(Broken);
});

test("an event of a kind we do not know keeps its place", async () => {
  const image = Uint8Array.of(0, 0, 0, 0, 5, 0x08, 1, 0x62, 1, 0);
  answerWith(streamed(TYPE, [frame(LOG[0] as never), image, ...body(LOG.slice(2))]));
  const messages = await all(grpcweb.start(REQUEST, options()));
  expect(messages).toEqual([
    LOG[0],
    { seq: 1, type: "notice", kind: "unknown", detail: {} },
    ...LOG.slice(2),
  ]);
});

test("frames are what came, trailers too", async () => {
  const frames: Frame[] = [];
  // The trailers come with the last event, as they do; they are seen although nobody waits for them.
  const bytes = joined(body(LOG));
  answerWith(streamed(TYPE, [bytes]));
  await all(grpcweb.start(REQUEST, { ...options(), onFrame: (frame) => frames.push(frame) }));
  const [asked, head, ...events] = frames;
  expect(asked).toMatchObject({ direction: "out", head: "POST /polystream.v1.Streams/Start" });
  expect(head).toMatchObject({ direction: "in", head: `200 ${TYPE}` });
  expect(joined(events.map((frame) => frame.bytes))).toEqual(bytes);
  expect(events.map(({ message }) => message)).toEqual([...LOG, undefined]);
});

test("a call that is left is aborted, and nothing listens to the caller's signal any more", async () => {
  const aborted = vi.fn();
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    init.signal?.addEventListener("abort", aborted);
    return streamed(TYPE, body(LOG))();
  });
  const { signal } = new AbortController();
  const [added, removed] = [vi.spyOn(signal, "addEventListener"), vi.spyOn(signal, "removeEventListener")];
  for await (const _ of grpcweb.start(REQUEST, { ...options(), signal })) break;
  expect(aborted).toHaveBeenCalledOnce();
  expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
});
