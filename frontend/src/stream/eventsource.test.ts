// @vitest-environment node
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { eventsource } from "./eventsource.js";
import { startRun } from "./resume.js";
import { all, untilError } from "./testing/fetch.js";
import { PIECES, REQUEST, textOf } from "./testing/log.js";
import { ScriptedServer } from "./testing/server.js";
import { Broken, type Frame } from "./transport.js";

let server: ScriptedServer;
const options = () => ({ base: server.base, signal: new AbortController().signal });

beforeEach(async () => {
  server = await new ScriptedServer().listen();
});

afterEach(() => server.close());

test("an answer by the native EventSource", async () => {
  const frames: Frame[] = [];
  const messages = await all(
    eventsource.start(REQUEST, { ...options(), onFrame: (frame) => frames.push(frame) }),
  );
  expect(messages).toEqual(server.logs.get("gen_0"));
  expect(frames.filter(({ message }) => message).map(({ message }) => message)).toEqual(messages);
  expect(frames.map(({ head }) => head).filter(Boolean)).toEqual([
    "POST /v1/streams",
    "202",
    "EventSource /v1/streams/gen_0",
    "open",
  ]);
});

test("a follow from a position, and at the end", async () => {
  await all(eventsource.start(REQUEST, options()));
  const log = server.logs.get("gen_0") ?? [];
  expect(await all(eventsource.follow("gen_0", 2, options()))).toEqual(log.slice(3));
  expect(await all(eventsource.follow("gen_0", log.length - 1, options()))).toEqual([]);
});

test("what it does not say is asked for", async () => {
  const [, error] = await untilError(eventsource.follow("gen_none", null, options()));
  expect(error).toMatchObject({ name: "Refused", code: "not_found" });
});

test("it does not reconnect by itself", async () => {
  await all(eventsource.start(REQUEST, options()));
  server.plan = () => ({ cutAt: 250 });
  const before = server.calls.length;
  const [messages, error] = await untilError(eventsource.follow("gen_0", null, options()));
  expect(error).toBeInstanceOf(Broken);
  expect(messages.length).toBeGreaterThan(0);
  expect(server.calls.length - before).toBe(1);
});

test("an abort closes it", async () => {
  await all(eventsource.start(REQUEST, options()));
  server.plan = () => ({ hangs: true, say: [] });
  const cut = new AbortController();
  const reading = untilError(eventsource.follow("gen_0", null, { ...options(), signal: cut.signal }));
  await vi.waitFor(() => expect(server.connections).toBeGreaterThan(0));
  cut.abort();
  expect((await reading)[1]).toMatchObject({ name: "AbortError" });
});

test("a run over it comes back as over the others", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0);
  let left = 3;
  server.plan = () => (left-- > 0 ? { cutAt: 300 } : {});
  const run = startRun(REQUEST, { base: server.base, protocol: "sse", transports: { sse: eventsource } });
  expect(textOf(await all(run))).toBe(PIECES.join(""));
  expect(run.verified).toBe("verified");
  expect(run.connections.length).toBe(4);
});
