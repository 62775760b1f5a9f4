// @vitest-environment node
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type WebSocket as Peer, WebSocketServer } from "ws";
import { all, untilError } from "./testing/fetch.js";
import { ID, logOf, REQUEST, websocket as text } from "./testing/log.js";
import { Broken, type Frame, Refused } from "./transport.js";
import { websocket } from "./websocket.js";

const LOG = logOf();
let server: WebSocketServer;
let heard: string[];
/** What the server does with a client's first message. */
let answer: (peer: Peer) => void;

beforeEach(async () => {
  heard = [];
  server = new WebSocketServer({ host: "127.0.0.1", port: 0, path: "/v1/streams" });
  server.on("connection", (peer) =>
    peer.on("message", (data) => {
      heard.push(String(data));
      answer(peer);
    }),
  );
  await once(server, "listening");
});

afterEach(async () => {
  for (const peer of server.clients) peer.terminate();
  server.close();
  await once(server, "close");
});

const options = () => ({
  base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
  signal: new AbortController().signal,
});
const say = (peer: Peer, ...messages: readonly object[]) => {
  for (const message of messages) peer.send(JSON.stringify(message));
};
const sayLog = (peer: Peer) => {
  for (const event of LOG) peer.send(text(event), { binary: false });
};

test("an answer, its socket, and what was said", async () => {
  answer = (peer) => {
    say(peer, { type: "heartbeat" });
    sayLog(peer);
  };
  expect(await all(websocket.start(REQUEST, { ...options(), idempotencyKey: "k" }))).toEqual([
    { type: "heartbeat" },
    ...LOG,
  ]);
  expect(await all(websocket.follow(ID, 0, options()))).toHaveLength(LOG.length + 1);
  expect(await all(websocket.follow(ID, null, options()))).toHaveLength(LOG.length + 1);
  expect(heard.map((message) => JSON.parse(message))).toEqual([
    { type: "start", ref: "a", request: REQUEST, idempotency_key: "k" },
    { type: "follow", ref: "a", id: ID, after: 0 },
    { type: "follow", ref: "a", id: ID },
  ]);
});

test("the subprotocol is offered, and the socket closed behind the last event", async () => {
  let closed: Promise<unknown[]> | undefined;
  server.on("connection", (peer, request) => {
    expect(request.headers["sec-websocket-protocol"]).toBe("polystream.v1");
    closed = once(peer, "close");
  });
  answer = sayLog;
  await all(websocket.start(REQUEST, options()));
  expect((await closed)?.[0]).toBe(1005);
});

test("a status says that a follow is at the end", async () => {
  answer = (peer) => say(peer, { ref: "a", type: "status", id: ID, state: "finished" });
  expect(await all(websocket.follow(ID, 9, options()))).toEqual([]);
});

test("come_back and lost end an answer", async () => {
  for (const last of [
    { type: "come_back", retry_after_ms: 5, reason: "drain" },
    { type: "lost", after: 2 },
  ]) {
    answer = (peer) => say(peer, { ref: "a", ...last });
    expect(await all(websocket.follow(ID, 2, options()))).toEqual([last]);
  }
});

test("an error is Refused", async () => {
  const error = { code: "conflict", message: "m", param: "p", retryable: false };
  answer = (peer) => say(peer, { ref: "a", type: "error", error: { ...error, param: "request.p" } });
  const [, refused] = await untilError(websocket.start(REQUEST, options()));
  expect(refused).toBeInstanceOf(Refused);
  expect(refused).toMatchObject(error);
});

test("close codes: some are an answer, the others a broken connection", async () => {
  const codes = {
    1008: "forbidden",
    1009: "too_large",
    1013: "overloaded",
    1011: null,
    1012: null,
    1000: null,
  };
  for (const [code, name] of Object.entries(codes)) {
    answer = (peer) => {
      say(peer, { ref: "a", ...LOG[0] });
      peer.close(Number(code));
    };
    const [messages, error] = await untilError(websocket.start(REQUEST, options()));
    expect(messages).toEqual([LOG[0]]);
    if (name === null) expect(error).toBeInstanceOf(Broken);
    else expect(error).toMatchObject({ name: "Refused", code: name, retryable: code === "1013" });
  }
  answer = (peer) => peer.terminate();
  expect((await untilError(websocket.start(REQUEST, options())))[1]).toBeInstanceOf(Broken);
});

test("binary frames, what is no JSON, and a door that is none are broken", async () => {
  answer = (peer) => peer.send(Uint8Array.of(1));
  expect((await untilError(websocket.start(REQUEST, options())))[1]).toBeInstanceOf(Broken);
  answer = (peer) => peer.send("?");
  expect((await untilError(websocket.start(REQUEST, options())))[1]).toBeInstanceOf(Broken);
  const elsewhere = { ...options(), base: `${options().base}elsewhere` };
  expect((await untilError(websocket.start(REQUEST, elsewhere)))[1]).toBeInstanceOf(Broken);
});

test("an abort ends a call, while it connects and later", async () => {
  for (const wait of [false, true]) {
    const cut = new AbortController();
    answer = () => cut.abort();
    const reading = untilError(websocket.start(REQUEST, { ...options(), signal: cut.signal }));
    if (!wait) cut.abort();
    const [, error] = await reading;
    expect(error).toMatchObject({ name: "AbortError" });
  }
  const over = { ...options(), signal: AbortSignal.abort() };
  await expect(all(websocket.start(REQUEST, over))).rejects.toThrow("aborted");
});

test("frames show both directions", async () => {
  answer = sayLog;
  const frames: Frame[] = [];
  await all(websocket.start(REQUEST, { ...options(), onFrame: (frame) => frames.push(frame) }));
  const told = frames.map(({ direction, head }) => `${direction} ${head ?? ""}`.trimEnd());
  expect(told.slice(0, 3)).toEqual([
    "out WebSocket /v1/streams polystream.v1",
    "in open polystream.v1",
    "out",
  ]);
  expect(new TextDecoder().decode(frames[2]?.bytes)).toBe(heard[0]);
  const events = frames.slice(3);
  expect(events.map(({ message }) => message)).toEqual(LOG);
  expect(events.map(({ bytes }) => bytes)).toEqual(LOG.map((event) => new Uint8Array(text(event))));
});
