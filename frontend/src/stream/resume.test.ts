// @vitest-environment node
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Message, Event as Numbered } from "./event.js";
import { followRun, startRun } from "./resume.js";
import type { Phase } from "./run.js";
import { finished, ID, logOf, PIECES, REQUEST, sha256, textOf } from "./testing/log.js";
import { readAll, Script } from "./testing/scripted.js";
import { Broken, Refused } from "./transport.js";

const LOG = logOf();
const TEXT = PIECES.join("");
const first = LOG.slice(0, 3);
const rest = LOG.slice(3);
const broken = new Broken("cut");
const ends = (run: { connections: readonly { end?: unknown }[] }) => run.connections.map(({ end }) => end);

beforeEach(() => {
  vi.useFakeTimers();
  // No jitter: each wait is as long as it can be.
  vi.spyOn(Math, "random").mockReturnValue(1);
});

afterEach(() => {
  expect(vi.getTimerCount(), "timers are left").toBe(0);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("an answer in one piece", async () => {
  const script = new Script(LOG);
  const phases: Phase[] = [];
  const run = startRun(REQUEST, { ...script.options, onChange: ({ phase }) => phases.push(phase) });
  expect(run).toMatchObject({ id: null, position: -1, phase: "connecting", verified: "unknown" });
  const { events, done } = readAll(run);
  await done;
  expect(events).toEqual(LOG);
  expect(run).toMatchObject({
    id: ID,
    position: LOG.length - 1,
    phase: "finished",
    verified: "verified",
    failure: null,
  });
  const [connection] = run.connections;
  expect(connection).toMatchObject({ protocol: "rest", firstSeq: 0, lastSeq: LOG.length - 1, end: "last" });
  expect(connection?.closedAt).toBeGreaterThanOrEqual(connection?.firstEventAt as number);
  expect([...new Set(phases)]).toEqual(["connecting", "streaming", "finished"]);
});

test("nothing is sent before the iteration, which is possible once", async () => {
  const script = new Script(LOG);
  const run = startRun(REQUEST, script.options);
  await vi.advanceTimersByTimeAsync(1000);
  expect(script.asked).toEqual([]);
  await readAll(run).done;
  expect(() => run[Symbol.asyncIterator]()).toThrow("once");
});

test("a broken connection is followed by one from the position, and what it has already is dropped", async () => {
  const script = new Script([...first, broken], [...LOG.slice(1)]);
  const run = startRun(REQUEST, script.options);
  const { events, done } = readAll(run);
  await vi.advanceTimersByTimeAsync(249);
  expect(run).toMatchObject({ phase: "reconnecting", retryAt: performance.now() + 1 });
  await vi.advanceTimersByTimeAsync(1);
  await done;
  expect(events).toEqual(LOG);
  expect(script.asked.map(({ id, after }) => [id, after])).toEqual([
    [null, null],
    [ID, 2],
  ]);
  expect(ends(run)).toEqual(["broken", "last"]);
  expect(run.verified).toBe("verified");
});

test("a start that broke before its id came is repeated under the same key, over any protocol", async () => {
  const script = new Script([broken], [{ type: "heartbeat" }, broken], LOG);
  const run = startRun(REQUEST, script.options);
  const { done } = readAll(run);
  run.switchTo("websocket");
  await vi.advanceTimersByTimeAsync(2000);
  await done;
  expect(script.asked.map(({ id }) => id)).toEqual([null, null, null]);
  expect(new Set(script.asked.map(({ key }) => key)).size).toBe(1);
  expect(script.asked[0]?.key).toMatch(/^[0-9a-f]{32}$/);
  const other = new Script(LOG);
  await readAll(startRun(REQUEST, other.options)).done;
  expect(other.asked[0]?.key).not.toBe(script.asked[0]?.key);
});

test("the waits double up to ten seconds, with full jitter, and begin anew after an event", async () => {
  const failures = Array.from({ length: 8 }, () => [broken]);
  const script = new Script(...failures, [...first, broken], [broken]);
  const run = startRun(REQUEST, script.options);
  const waits: number[] = [];
  const { done } = readAll(run);
  for (let n = 0; n < 10; n++) {
    await vi.advanceTimersByTimeAsync(0);
    waits.push(Math.round((run.retryAt ?? 0) - performance.now()));
    if (n === 6) vi.mocked(Math.random).mockReturnValue(0.5);
    await vi.advanceTimersByTimeAsync(waits.at(-1) ?? 0);
  }
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 10_000, 5000, 125, 250]);
  expect(run.phase).toBe("reconnecting");
  run.stop();
  await done;
});

test("come_back and Retry-After are waited for", async () => {
  const busy = new Refused("overloaded", "busy", true, 30_000);
  const script = new Script(
    [busy],
    [...first, { type: "come_back", retry_after_ms: 700, reason: "drain" }],
    rest,
  );
  const run = startRun(REQUEST, script.options);
  const { events, done } = readAll(run);
  await vi.advanceTimersByTimeAsync(30_249);
  expect(script.asked.length).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(events).toEqual(first);
  await vi.advanceTimersByTimeAsync(949);
  expect(script.asked.length).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  await done;
  expect(events).toEqual(LOG);
  expect(ends(run)).toEqual(["broken", "come_back", "last"]);
});

test("the network's return, retryNow and a switch cut a wait short", async () => {
  const target = new EventTarget();
  const added = vi.fn(target.addEventListener.bind(target));
  const removed = vi.fn(target.removeEventListener.bind(target));
  vi.stubGlobal("addEventListener", added);
  vi.stubGlobal("removeEventListener", removed);
  const wake = [
    () => target.dispatchEvent(new Event("online")),
    (run: ReturnType<typeof startRun>) => run.retryNow(),
    (run: ReturnType<typeof startRun>) => run.switchTo("grpcweb"),
  ];
  for (const act of wake) {
    const script = new Script(
      [...first, { type: "come_back", retry_after_ms: 60_000, reason: "store" }],
      rest,
    );
    const run = startRun(REQUEST, script.options);
    const { events, done } = readAll(run);
    await vi.advanceTimersByTimeAsync(10);
    expect(run.phase).toBe("reconnecting");
    act(run);
    await done;
    expect(events).toEqual(LOG);
    expect(run.retryAt).toBeNull();
  }
  expect(added).toHaveBeenCalledTimes(3);
  expect(removed.mock.calls).toEqual(added.mock.calls);
});

test("a switch in mid-answer goes on at once over the other protocol", async () => {
  const script = new Script([...first, "silence"], [...rest.slice(0, 2), "silence"], rest.slice(2));
  const run = startRun(REQUEST, script.options);
  const { events, done } = readAll(run);
  await vi.advanceTimersByTimeAsync(0);
  run.switchTo("rest");
  run.switchTo("websocket");
  await vi.advanceTimersByTimeAsync(0);
  expect(script.asked[0]?.signal.aborted).toBe(true);
  expect(run).toMatchObject({ protocol: "websocket", phase: "streaming" });
  run.switchTo("grpcweb");
  await done;
  expect(events).toEqual(LOG);
  expect(script.asked.map(({ protocol, after }) => [protocol, after])).toEqual([
    ["rest", null],
    ["websocket", 2],
    ["grpcweb", 4],
  ]);
  expect(ends(run)).toEqual(["switched", "switched", "last"]);
});

test("a dropped connection comes back by itself, also one that was only being made", async () => {
  const script = new Script(["silence"], [...first, "silence"], rest);
  const run = startRun(REQUEST, script.options);
  const { events, done } = readAll(run);
  await vi.advanceTimersByTimeAsync(0);
  run.drop();
  run.drop();
  await vi.advanceTimersByTimeAsync(250);
  expect(run.phase).toBe("streaming");
  run.drop();
  await vi.advanceTimersByTimeAsync(250);
  await done;
  expect(events).toEqual(LOG);
  expect(ends(run)).toEqual(["dropped", "dropped", "last"]);
});

test("a hole is lost", async () => {
  const script = new Script([...first, ...LOG.slice(4)]);
  const run = startRun(REQUEST, script.options);
  const { events, done } = readAll(run);
  await done;
  expect(events).toEqual(first);
  expect(run).toMatchObject({
    phase: "lost",
    position: 2,
    verified: "unknown",
    failure: { code: "position_lost" },
  });
  expect(script.asked[0]?.signal.aborted).toBe(true);
});

test("a takeover from the position explains a jump, from another it does not", async () => {
  const jump = 2 ** 20;
  const takeover = (from: number): Numbered => ({
    seq: jump,
    type: "notice",
    kind: "takeover",
    detail: { from },
  });
  const text: Numbered = { seq: jump + 1, type: "text", text: "!" };
  const last = finished(jump + 2, `${textOf(first)}!`, 6);
  const run = startRun(REQUEST, new Script([...first, takeover(2), text, last]).options);
  const { events, done } = readAll(run);
  await done;
  expect(events).toEqual([...first, takeover(2), text, last]);
  expect(run.verified).toBe("verified");
  const other = startRun(REQUEST, new Script([...first, takeover(1), text, last]).options);
  await readAll(other).done;
  expect(other.phase).toBe("lost");
});

test("a restart voids the text before it", async () => {
  const restart: Numbered = { seq: 3, type: "notice", kind: "restart", detail: { cause: "x" } };
  const log = [...first, restart, { seq: 4, type: "text", text: "anew" } as Numbered, finished(5, "anew")];
  const run = startRun(REQUEST, new Script(log).options);
  await readAll(run).done;
  expect(run.verified).toBe("verified");
});

test("another digest and another number of events are told", async () => {
  for (const last of [finished(LOG.length - 1, "else"), finished(LOG.length - 1, TEXT, LOG.length + 1)]) {
    const run = startRun(REQUEST, new Script([...LOG.slice(0, -1), last]).options);
    await readAll(run).done;
    expect(run).toMatchObject({ phase: "finished", verified: "mismatch" });
  }
});

test("a digest is right without crypto.subtle and without randomUUID, as on a page over plain HTTP", async () => {
  vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
  const run = startRun(REQUEST, new Script(LOG).options);
  await readAll(run).done;
  expect(run.verified).toBe("verified");
});

test("what is lost at the server is lost", async () => {
  const gone = [
    { type: "lost", after: 2 } as Message,
    new Refused("position_lost", "", false),
    new Refused("not_found", "", false),
  ];
  for (const end of gone) {
    const run = startRun(REQUEST, new Script([...first, broken], [end]).options);
    const { done } = readAll(run);
    await vi.advanceTimersByTimeAsync(250);
    await done;
    expect(run.phase).toBe("lost");
  }
});

test("a refusal that will not pass is a failure", async () => {
  const never = followRun(ID, null, new Script([new Refused("not_found", "No such.", false)]).options);
  await readAll(never).done;
  expect(never).toMatchObject({
    phase: "failed",
    failure: { code: "not_found", message: "No such.", retryable: false },
  });
  const wrong = startRun(
    REQUEST,
    new Script([new Refused("invalid_request", "n", false, undefined, "n")]).options,
  );
  await readAll(wrong).done;
  expect(wrong.failure).toEqual({ code: "invalid_request", message: "n", retryable: false, param: "n" });
});

test("an answer that failed is whole, and says why", async () => {
  const error = { code: "upstream_stalled", message: "m", retryable: true };
  const last: Numbered = { seq: 3, type: "failed", error, events: 4, sha256: sha256(textOf(first)) };
  const run = startRun(REQUEST, new Script([...first, last]).options);
  await readAll(run).done;
  expect(run).toMatchObject({ phase: "failed", failure: error, verified: "verified", position: 3 });
});

test("a follow from a position goes on behind it, and cannot be verified", async () => {
  const script = new Script(rest);
  const run = followRun(ID, 2, script.options);
  const { events, done } = readAll(run);
  await done;
  expect(events).toEqual(rest);
  expect(script.asked[0]).toMatchObject({ id: ID, after: 2 });
  expect(run).toMatchObject({ phase: "finished", verified: "unknown" });
  const whole = followRun(ID, null, new Script(LOG).options);
  await readAll(whole).done;
  expect(whole.verified).toBe("verified");
});

test("a follow at the end of an ended log ends; in mid-answer an empty answer is a broken one", async () => {
  const run = followRun(ID, 9, new Script([]).options);
  await readAll(run).done;
  expect(run).toMatchObject({ phase: "finished", verified: "unknown" });
  const script = new Script(first, [], rest);
  const other = startRun(REQUEST, script.options);
  const { events, done } = readAll(other);
  await vi.advanceTimersByTimeAsync(1000);
  await done;
  expect(events).toEqual(LOG);
});

test("patience ends, and says what the trouble was", async () => {
  const run = startRun(REQUEST, { ...new Script([...first, broken], ["silence"]).options, patienceMs: 5000 });
  const { done } = readAll(run);
  await vi.advanceTimersByTimeAsync(4999);
  expect(run.phase).toBe("reconnecting");
  await vi.advanceTimersByTimeAsync(1);
  await done;
  expect(run).toMatchObject({
    phase: "failed",
    failure: { code: "disconnected", message: "cut", retryable: true },
  });
  const busy = new Refused("overloaded", "busy", true, 60_000);
  const other = startRun(REQUEST, { ...new Script([busy]).options, patienceMs: 5000 });
  const reading = readAll(other);
  await vi.advanceTimersByTimeAsync(5000);
  await reading.done;
  expect(other.failure).toMatchObject({ code: "overloaded", message: "busy" });
});

test("while the server is there, patience is endless", async () => {
  const script = new Script([...first, "silence"]);
  const run = startRun(REQUEST, { ...script.options, patienceMs: 5000, silenceMs: 0 });
  const { done } = readAll(run);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(run.phase).toBe("streaming");
  run.stop();
  await done;
});

test("a silent connection is dead, unless it is a mute transport's", async () => {
  const script = new Script([...first, "silence"], rest);
  const run = startRun(REQUEST, script.options);
  const { events, done } = readAll(run);
  await vi.advanceTimersByTimeAsync(29_999);
  expect(script.asked.length).toBe(1);
  await vi.advanceTimersByTimeAsync(251);
  await done;
  expect(events).toEqual(LOG);
  expect(ends(run)).toEqual(["broken", "last"]);

  const quiet = new Script([...first, "silence"]);
  const transport = quiet.options.transports?.rest;
  if (transport === undefined) throw new Error("no transport");
  const mute = startRun(REQUEST, { protocol: "rest", transports: { rest: { ...transport, mute: true } } });
  const reading = readAll(mute);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(quiet.asked.length).toBe(1);
  mute.stop();
  await reading.done;
});

test("time that the reader takes is no silence", async () => {
  const run = startRun(REQUEST, new Script(LOG).options);
  const events = run[Symbol.asyncIterator]();
  await events.next();
  await vi.advanceTimersByTimeAsync(600_000);
  for (const event of LOG.slice(1)) expect((await events.next()).value).toEqual(event);
  expect(await events.next()).toEqual({ done: true, value: undefined });
  expect(run.connections.length).toBe(1);
});

test("stop ends at once, whatever the run is waiting for", async () => {
  const comeBack: Message = { type: "come_back", retry_after_ms: 60_000, reason: "drain" };
  for (const script of [new Script(), new Script([...first, "silence"]), new Script([...first, comeBack])]) {
    const run = startRun(REQUEST, script.options);
    const { done } = readAll(run);
    await vi.advanceTimersByTimeAsync(10);
    run.stop();
    await done;
    expect(run).toMatchObject({ phase: "stopped", failure: null, retryAt: null });
    expect(script.asked.every(({ signal }) => signal.aborted)).toBe(true);
    run.drop();
    run.retryNow();
    run.switchTo("sse");
    expect(run).toMatchObject({ phase: "stopped", protocol: "rest" });
  }
});

test("to leave the loop is to stop", async () => {
  const script = new Script(LOG);
  const run = startRun(REQUEST, script.options);
  for await (const event of run) if (event.seq === 1) break;
  expect(run).toMatchObject({ phase: "stopped", position: 1 });
  expect(script.asked[0]?.signal.aborted).toBe(true);
  const waiting = startRun(REQUEST, new Script().options)[Symbol.asyncIterator]();
  const next = waiting.next();
  await waiting.return?.();
  expect(await next).toEqual({ done: true, value: undefined });
});

test("a run that was stopped while it computed the digest gives no event any more", async () => {
  const run = startRun(REQUEST, new Script(LOG).options);
  const seen: Numbered[] = [];
  const digest = vi.spyOn(crypto.subtle, "digest").mockImplementation(async () => {
    run.stop();
    return new ArrayBuffer(32);
  });
  for await (const event of run) seen.push(event);
  expect(digest).toHaveBeenCalledOnce();
  expect(seen).toEqual(LOG.slice(0, -1));
  expect(run.phase).toBe("stopped");
});

test("cancel asks the server, as soon as the id is known", async () => {
  const fetched = vi.fn(async () => new Response("{}", { status: 202 }));
  vi.stubGlobal("fetch", fetched);
  const script = new Script([...first, "silence"]);
  const run = startRun(REQUEST, { ...script.options, base: "http://door" });
  const cancelled = run.cancel();
  expect(fetched).not.toHaveBeenCalled();
  const { done } = readAll(run);
  await cancelled;
  expect(fetched).toHaveBeenCalledExactlyOnceWith(`http://door/v1/streams/${ID}`, {
    method: "DELETE",
    keepalive: true,
  });
  expect(run.phase).toBe("streaming");
  run.stop();
  await done;
  await run.cancel();
  expect(fetched).toHaveBeenCalledOnce();
});

test("a cancel of a run that never gets an id ends with the run", async () => {
  const run = startRun(REQUEST, new Script([new Refused("invalid_request", "", false)]).options);
  const cancelled = run.cancel();
  await readAll(run).done;
  await cancelled;
});

test("a cancel that is refused says so", async () => {
  const error = { code: "not_found", message: "No such.", retryable: false };
  vi.stubGlobal("fetch", async () => Response.json({ error }, { status: 404 }));
  const run = followRun(ID, 1, new Script().options);
  await expect(run.cancel()).rejects.toMatchObject({ code: "not_found" });
  run.stop();
});

test("an error of the program's own is no trouble of the network", async () => {
  const run = startRun(REQUEST, new Script([...first, new RangeError("bug")]).options);
  await expect(readAll(run).done).rejects.toThrow("bug");
  expect(run).toMatchObject({ phase: "failed", failure: { code: "internal" } });
});
