import { beforeEach, expect, test, vi } from "vitest";
import { Recordings } from "../app/recordings";
import type { StartRequest } from "../stream/event";
import { conversation, turn } from "../testing/conversations";
import { type FakeStreams, failed, fakeStreams, finished, said, started, turns } from "../testing/fakeRun";
import { Answers } from "./answers";
import { memoryShelf } from "./shelf";
import { ConversationStore } from "./store";

/** "Hello world" */
const DIGEST = "64ec88ca00b268e5ba1a35678a1b5316d212f4f366b2477232534a8aeca37f3c";

let frames: FrameRequestCallback[] = [];
let store: ConversationStore;
let recordings: Recordings;
let streams: FakeStreams;
let answers: Answers;

beforeEach(async () => {
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (task: FrameRequestCallback) => frames.push(task));
  await page();
  return () => {
    frame(); // or the next test would wait for a frame that never comes
    vi.unstubAllGlobals();
  };
});

/** A page of its own over what is stored; the one before is gone. */
async function page(shelf = memoryShelf()): Promise<void> {
  store = new ConversationStore(async () => shelf, null);
  recordings = new Recordings();
  streams = fakeStreams();
  answers = new Answers(store, recordings, streams);
  await store.ready();
}

function frame(): void {
  for (const task of frames.splice(0)) task(0);
}

function ask(text = "Hi"): string {
  if (!store.get("c1")) store.put(conversation());
  answers.send("c1", text, "sse");
  return lastAnswer().id;
}

const lastAnswer = () => store.get("c1")?.turns.at(-1)?.answer ?? turn("none", "").answer;
const sent = (run = streams.last()) => (run.origin as StartRequest).messages.map(({ content }) => content);

test("an answer is stored as it came, with what carried it", async () => {
  const id = ask();
  streams.last().give(started());
  streams.last().give(said(1, "Hello"));
  streams.last().give(said(2, " world"));
  streams.last().give(finished(3, DIGEST));
  await vi.waitFor(() => expect(lastAnswer().state).toBe("finished"));
  expect(lastAnswer()).toMatchObject({ text: "Hello world", position: 3, streamId: "gen_1", tokens: 2 });
  expect(lastAnswer().verified).toBe("verified");
  expect(recordings.get(id)?.events.map(({ event }) => event.seq)).toEqual([0, 1, 2, 3]);
});

test("an answer is stored with its id as soon as it has one, so that a reload does not ask again", async () => {
  ask();
  streams.last().give(started());
  await turns();
  frame();
  await turns();
  await vi.waitFor(() => expect(lastAnswer().streamId).toBe("gen_1"));
});

test("a text that differs from the server's digest is not verified", async () => {
  ask();
  streams.last().give(started());
  streams.last().give(said(1, "Hello"));
  streams.last().give(finished(2, DIGEST));
  await vi.waitFor(() => expect(lastAnswer().verified).toBe("mismatch"));
});

test("however many events come in a frame, it is told once", async () => {
  const id = ask();
  streams.last().give(started());
  await turns();
  frame();
  const told = vi.fn();
  answers.subscribe(told);
  for (let seq = 1; seq <= 50; seq += 1) streams.last().give(said(seq, "x"));
  await turns(400);
  expect(told).not.toHaveBeenCalled();
  frame();
  expect(told).toHaveBeenCalledTimes(1);
  expect(answers.live(id)?.answer.text).toHaveLength(50);
});

test("a drop is a seam: what came before it, and what carries on", async () => {
  ask();
  streams.last().give(started());
  streams.last().give(said(1, "Hello"));
  await turns();
  streams.last().connect("dropped", "websocket");
  streams.last().give(said(2, " world"));
  streams.last().give(finished(3, DIGEST));
  await vi.waitFor(() => expect(lastAnswer().state).toBe("finished"));
  expect(lastAnswer().seams).toMatchObject([{ at: 5, seq: 1, protocol: "websocket", cause: "dropped" }]);
});

test("breaks within two seconds become one seam with their number", async () => {
  ask();
  streams.last().give(started());
  streams.last().give(said(1, "Hello"));
  await turns();
  streams.last().connect("broken");
  streams.last().give(said(2, " wor"));
  await turns();
  streams.last().connect("broken");
  streams.last().give(said(3, "ld"));
  await turns();
  frame();
  answers.flush();
  expect(lastAnswer().seams).toMatchObject([{ count: 2, at: 9 }]);
});

test("a history that is too long is sent again without the oldest turn, until it fits", async () => {
  const told = [turn("1", "one?", { text: "one." }), turn("2", "two?", { text: "two." })];
  store.put(conversation({ turns: told }));
  ask("three?");
  expect(sent()).toHaveLength(5);
  for (const left of [3, 1]) {
    streams.last().give(started());
    streams.last().give(failed(1, "context_length_exceeded", false));
    await vi.waitFor(() => expect(sent()).toHaveLength(left));
  }
  streams.last().give(started("gen_3"));
  streams.last().give(said(1, "three."));
  streams.last().give(finished(2));
  await vi.waitFor(() => expect(lastAnswer().state).toBe("finished"));
  expect(lastAnswer()).toMatchObject({ omitted: 2, text: "three.", streamId: "gen_3" });
  expect(new Set(streams.runs.map(({ options }) => options.idempotencyKey)).size).toBe(3);
});

test("a message that does not fit by itself fails", async () => {
  ask("much too long");
  streams.last().give(started());
  streams.last().give(failed(1, "context_length_exceeded", false));
  await vi.waitFor(() => expect(lastAnswer().state).toBe("failed"));
  expect(streams.runs).toHaveLength(1);
});

test("a busy engine is asked again after a while, and the wait can be cut short or given up", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const id = ask();
  streams.last().give(started());
  streams.last().give(failed(1, "overloaded"));
  await turns(30);
  expect(answers.live(id)?.answer).toMatchObject({ state: "busy", resendAt: Date.now() + 2000 });
  await vi.advanceTimersByTimeAsync(2000);
  expect(streams.runs).toHaveLength(2);
  streams.last().give(started());
  streams.last().give(failed(1, "overloaded"));
  await turns(30);
  expect(answers.live(id)?.answer.resendAt).toBe(Date.now() + 5000);
  answers.retryNow(id);
  expect(streams.runs).toHaveLength(3);
  streams.last().give(failed(0, "overloaded"));
  await turns(30);
  await answers.stop(id);
  expect(lastAnswer().state).toBe("stopped");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(streams.runs).toHaveLength(3);
  vi.useRealTimers();
});

test("an answer that failed in the middle keeps its text", async () => {
  ask();
  streams.last().give(started());
  streams.last().give(said(1, "Half"));
  streams.last().give(failed(2, "upstream_stalled"));
  await vi.waitFor(() => expect(lastAnswer().state).toBe("failed"));
  expect(lastAnswer()).toMatchObject({ text: "Half", failure: { code: "upstream_stalled" } });
});

test("a reload in mid-answer follows from the position that was stored, and the digest holds over both", async () => {
  const shelf = memoryShelf();
  await page(shelf);
  ask();
  streams.last().give(started());
  streams.last().give(said(1, "Hello"));
  await turns();
  frame();
  answers.flush();
  await turns();
  await page(shelf);
  for (const stored of store.state().conversations) answers.resume(stored);
  expect(streams.last().origin).toEqual({ id: "gen_1", after: 1 });
  streams.last().give(said(2, " world"));
  streams.last().give(finished(3, DIGEST));
  await vi.waitFor(() => expect(lastAnswer().verified).toBe("verified"));
  expect(lastAnswer()).toMatchObject({ text: "Hello world", seams: [{ cause: "reloaded", seq: 1 }] });
});

test("a reload before the first event finds the same generation by its key", async () => {
  const shelf = memoryShelf();
  await page(shelf);
  ask();
  const key = streams.last().options.idempotencyKey;
  await turns();
  await page(shelf);
  for (const stored of store.state().conversations) answers.resume(stored);
  expect(key).toBeTruthy();
  expect(streams.last().options.idempotencyKey).toBe(key);
  expect(sent()).toEqual(["Hi"]);
});

test("a position that the store has lost is said, and the text kept", async () => {
  ask();
  streams.last().give(started());
  streams.last().give(said(1, "Half"));
  await turns();
  streams.last().end("lost", { code: "position_lost", message: "", retryable: false });
  await vi.waitFor(() => expect(lastAnswer().state).toBe("lost"));
  expect(lastAnswer().text).toBe("Half");
});

test("asking a turn again leaves what came after it, and follows no answer twice", async () => {
  ask("one?");
  const first = store.get("c1")?.turns[0]?.id ?? "";
  answers.askAgain("c1", first, "other?", "rest");
  expect(streams.runs[0]?.calls).toContain("stop");
  expect(streams.runs).toHaveLength(2);
  expect(store.get("c1")?.turns).toMatchObject([{ id: first, ask: "other?", answer: { protocol: "rest" } }]);
});

test("stopping cancels the generation at the server", async () => {
  const id = ask();
  streams.last().give(started());
  await turns();
  await answers.stop(id);
  expect(streams.last().calls).toEqual(["cancel"]);
});
