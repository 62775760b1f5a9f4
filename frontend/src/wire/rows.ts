// The rows of the list: each frame, a head where a connection begins, and what cut the one before.
import type { Connection } from "../stream/run";
import type { Frame, Protocol } from "../stream/transport";

export type Filter = "all" | "text" | "notices" | "heartbeats";
export const FILTERS: readonly Filter[] = ["all", "text", "notices", "heartbeats"];

export interface HeadRow {
  readonly kind: "head";
  readonly protocol: Protocol;
  readonly text: string;
}

/** Between two connections. `after`: the last event that came before; `gapMs`: from there to the next event. */
export interface CutRow {
  readonly kind: "cut";
  readonly end: Exclude<Connection["end"], undefined>;
  readonly after: number | null;
  readonly gapMs: number | null;
}

export interface FrameRow {
  readonly kind: "frame";
  readonly frame: Frame;
  /** Milliseconds since the request. */
  readonly atMs: number;
  /** Since the event before; null: not an event, or the first. */
  readonly gapMs: number | null;
  readonly seq: number | null;
  readonly type: string;
}

export type Row = HeadRow | CutRow | FrameRow;

export function rowsOf(
  frames: readonly Frame[],
  connections: readonly Connection[],
  startedAt: number,
): Row[] {
  const rows: (Row | { kind: "head"; protocol: Protocol; text: string })[] = [];
  let last: FrameRow | null = null;
  let cut: { -readonly [K in keyof CutRow]: CutRow[K] } | null = null;
  for (const frame of frames) {
    if (frame.head !== undefined && !closes(frame)) {
      if (frame.direction === "out" && opens(frame)) {
        const end = last === null ? undefined : endBefore(connections, frame.at);
        if (last !== null && end !== undefined && end !== "last") {
          cut = { kind: "cut", end, after: last.seq, gapMs: null };
          rows.push(cut);
        }
      }
      addHead(rows, frame);
      if (frame.bytes.length === 0) continue;
    }
    const row = frameRow(frame, startedAt, last);
    rows.push(row);
    if (row.seq === null) continue;
    if (cut) cut.gapMs = row.gapMs;
    cut = null;
    last = row;
  }
  return rows;
}

/** What a filter leaves: its frames, and the heads of connections that have some. */
export function filtered(rows: readonly Row[], filter: Filter): readonly Row[] {
  if (filter === "all") return rows;
  const left: Row[] = [];
  let head: HeadRow | null = null;
  for (const row of rows) {
    if (row.kind === "head") head = row;
    if (row.kind !== "frame" || !passes(row, filter)) continue;
    if (head) left.push(head);
    head = null;
    left.push(row);
  }
  return left;
}

const TEXT = new Set(["text", "reasoning", "refusal", "tool_call"]);

function passes({ frame: { message } }: FrameRow, filter: Filter): boolean {
  if (!message) return false;
  if (filter === "text") return TEXT.has(message.type);
  return message.type === (filter === "notices" ? "notice" : "heartbeat");
}

function frameRow(frame: Frame, startedAt: number, last: FrameRow | null): FrameRow {
  const { message } = frame;
  const seq = frame.direction === "in" && message && "seq" in message ? message.seq : null;
  return {
    kind: "frame",
    frame,
    atMs: frame.at - startedAt,
    gapMs: seq === null || last === null ? null : frame.at - last.frame.at,
    seq,
    type: typeOf(frame),
  };
}

function typeOf({ message, direction, head, bytes }: Frame): string {
  if (message) return message.type === "notice" ? message.kind : message.type;
  if (head?.startsWith("close")) return "close";
  if (direction === "in") return head === undefined ? "other" : "error";
  return typeIn(bytes) ?? "request";
}

/** What we send over a WebSocket says its type itself. */
function typeIn(bytes: Uint8Array): string | null {
  try {
    const { type } = Object(JSON.parse(new TextDecoder().decode(bytes)));
    return typeof type === "string" ? type : null;
  } catch {
    return null;
  }
}

function closes({ head }: Frame): boolean {
  return head?.startsWith("close") === true;
}

/** A cancel is a call of its own, not a connection that carries events. */
function opens({ head }: Frame): boolean {
  return head?.startsWith("DELETE") !== true;
}

/** The call, and when it is there what was answered: POST /v1/streams · 200 · text/event-stream. */
function addHead(rows: (Row | { kind: "head"; protocol: Protocol; text: string })[], frame: Frame): void {
  const head = frame.head ?? "";
  if (frame.direction === "out") {
    rows.push({ kind: "head", protocol: frame.protocol, text: head });
    return;
  }
  const answer = head.replace(/^(\S+) /, "$1 · ");
  const asked = rows.findLastIndex((row) => row.kind === "head");
  const row = rows[asked];
  if (row?.kind !== "head" || row.protocol !== frame.protocol) return;
  rows[asked] = { ...row, text: `${row.text} · ${answer}` };
}

function endBefore(connections: readonly Connection[], at: number): Connection["end"] {
  return connections.findLast(({ openedAt, end }) => end !== undefined && openedAt < at)?.end;
}
