import { expect, test } from "vitest";
import type { Connection } from "../stream/run";
import type { Frame, Protocol } from "../stream/transport";
import { finishedEvent, frameOf, textEvent } from "../testing/scripted";
import { filtered, type Row, rowsOf } from "./rows";

const utf8 = new TextEncoder();

function head(protocol: Protocol, direction: "in" | "out", text: string, at: number, body = ""): Frame {
  return { at, protocol, direction, head: text, bytes: utf8.encode(body) };
}

/** SSE, dropped after event 2, continued over a WebSocket. */
const frames: readonly Frame[] = [
  head("sse", "out", "POST /v1/streams", 1000, '{"messages":[]}'),
  head("sse", "in", "200 text/event-stream", 1010),
  frameOf("sse", textEvent(1, "Hel"), 1084),
  frameOf("sse", textEvent(2, "lo"), 1110),
  head("websocket", "out", "WebSocket /v1/streams polystream.v1", 1250),
  head("websocket", "in", "open polystream.v1", 1260),
  { at: 1261, protocol: "websocket", direction: "out", bytes: utf8.encode('{"type":"follow","ref":"b"}') },
  { ...frameOf("websocket", textEvent(3, "!"), 1322) },
  {
    at: 1330,
    protocol: "websocket",
    direction: "in",
    bytes: utf8.encode("x"),
    message: { type: "heartbeat" },
  },
  frameOf("websocket", finishedEvent(4), 1340),
  head("websocket", "in", "close 1000", 1350),
];
const connections: readonly Connection[] = [
  { protocol: "sse", openedAt: 999, closedAt: 1200, lastSeq: 2, end: "dropped" },
  // Ended later, so it is not what ended before its own beginning.
  { protocol: "websocket", openedAt: 1249, closedAt: 1345, end: "broken" },
];

const said = (row: Row) => {
  if (row.kind === "head") return `${row.protocol}: ${row.text}`;
  if (row.kind === "cut") return `${row.end} after ${row.after}, ${row.gapMs} ms`;
  return `${row.frame.direction} ${row.type} ${row.seq} ${row.gapMs}`;
};

test("heads join what was asked and answered, a cut says why and how long", () => {
  expect(rowsOf(frames, connections, 1000).map(said)).toEqual([
    "sse: POST /v1/streams · 200 · text/event-stream",
    "out request null null",
    "in text 1 null",
    "in text 2 26",
    "dropped after 2, 212 ms",
    "websocket: GET /v1/streams · 101 · polystream.v1",
    "out follow null null",
    "in text 3 212",
    "in heartbeat null null",
    "in finished 4 18",
    "in close null null",
  ]);
});

test("a cancel opens no connection that could have been cut", () => {
  const cancelled = [...frames.slice(0, 4), head("sse", "out", "DELETE /v1/streams/gen_x", 1250)];
  expect(rowsOf(cancelled, connections, 1000).map(({ kind }) => kind)).not.toContain("cut");
});

test("a refused call has its error among the frames", () => {
  const refused = [
    head("rest", "out", "POST /v1/streams", 0),
    head("rest", "in", "503 application/json", 5, "{}"),
  ];
  expect(rowsOf(refused, [], 0).map(said)).toEqual([
    "rest: POST /v1/streams · 503 · application/json",
    "in error null null",
  ]);
});

test("filters leave their frames, under the heads of their connections", () => {
  const rows = rowsOf(frames, connections, 1000);
  expect(filtered(rows, "all")).toHaveLength(11);
  expect(filtered(rows, "text").map(({ kind }) => kind)).toEqual(["head", "frame", "frame", "head", "frame"]);
  expect(filtered(rows, "heartbeats").map(({ kind }) => kind)).toEqual(["head", "frame"]);
  expect(filtered(rows, "notices")).toEqual([]);
});
