// @vitest-environment node
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Event } from "./event.js";
import { startRun } from "./resume.js";
import { PIECES, REQUEST, sha256, textOf } from "./testing/log.js";
import { isWhole, ScriptedServer } from "./testing/server.js";
import { PROTOCOLS } from "./transport.js";

let server: ScriptedServer;

beforeEach(async () => {
  // No waits between connections; the tests' own chance is seeded.
  vi.spyOn(Math, "random").mockReturnValue(0);
  server = await new ScriptedServer().listen();
});

afterEach(() => server.close());

test("nothing is lost or doubled, wherever and however often the connections break", {
  timeout: 60_000,
}, async () => {
  const chance = random(20_260_801);
  const pick = (below: number) => Math.floor(chance() * below);
  let cuts = 0;
  let answers = 0;
  for (; cuts < 400; answers++) {
    const pieces = Array.from({ length: 3 + pick(30) }, () => PIECES[pick(PIECES.length)] ?? "");
    server.pieces = pieces;
    let left = 1 + pick(8);
    // A connection is cut before its headers, within its body, or by its reader; then it goes on over another protocol.
    server.plan = () => (left-- > 0 ? { cutAt: pick(8) === 0 ? -1 : pick(2500) } : {});
    const run = startRun(REQUEST, { base: server.base, protocol: PROTOCOLS[pick(4)] ?? "rest" });
    const events: Event[] = [];
    for await (const event of run) {
      events.push(event);
      if (pick(12) === 0) run.switchTo(PROTOCOLS[pick(4)] ?? "rest");
      if (pick(12) === 0) run.drop();
    }
    const text = pieces.join("");
    expect(textOf(events)).toBe(text);
    expect(events.at(-1)).toMatchObject({ type: "finished", sha256: sha256(text) });
    expect(isWhole(events)).toBe(true);
    expect(run).toMatchObject({ phase: "finished", verified: "verified" });
    cuts += run.connections.length - 1;
  }
  // However often a start was repeated, it started one generation.
  expect(server.logs.size).toBe(answers);
  expect(new Set(server.calls.map(({ protocol }) => protocol)).size).toBe(4);
  expect(server.calls.filter(({ id }) => id === null).length).toBeGreaterThan(answers);
});

test("a start whose answer never arrived is repeated with its key, and starts nothing new", async () => {
  for (const protocol of PROTOCOLS) {
    const before = server.logs.size;
    let left = 3;
    server.calls.length = 0;
    server.plan = () => (left-- > 0 ? { cutAt: left === 0 ? -1 : 0 } : {});
    const run = startRun(REQUEST, { base: server.base, protocol });
    for await (const _ of run);
    expect(run.verified).toBe("verified");
    expect(server.logs.size - before).toBe(1);
    expect(server.calls.length).toBe(4);
    expect(new Set(server.calls.map(({ key }) => key)).size).toBe(1);
  }
});

test("refusals are the same over every protocol that can tell", async () => {
  for (const protocol of ["rest", "sse", "websocket"] as const) {
    server.plan = () => ({ refuse: { status: 400, code: "invalid_request", retryable: false } });
    const run = startRun(REQUEST, { base: server.base, protocol });
    for await (const _ of run);
    expect(run).toMatchObject({ phase: "failed", failure: { code: "invalid_request" } });
  }
});

test("stop leaves no connection behind, at either end", async () => {
  for (const protocol of PROTOCOLS) {
    server.plan = () => ({ say: [{ type: "heartbeat" }], hangs: true });
    const run = startRun(REQUEST, { base: server.base, protocol });
    const reading = (async () => {
      for await (const _ of run);
    })();
    await vi.waitFor(() => expect(run.phase).toBe("streaming"));
    expect(server.connections).toBeGreaterThan(0);
    run.stop();
    await reading;
    await vi.waitFor(() => expect(server.connections).toBe(0));
  }
  const sockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap");
  await vi.waitFor(() => expect(sockets()).toEqual([]));
});

/** mulberry32: the same numbers in every run. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
