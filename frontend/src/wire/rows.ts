// The rows of the list: each frame, a head where a connection begins, and what cut the one before.
import type { Connection } from "../stream/run";
import type { Frame, Protocol } from "../stream/transport";

/** A connection's end may be noted a little after the next one's beginning. */
const SAME_TURN_MS = 5;

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
  const rows: Row[] = [];
  let last: FrameRow | null = null;
  let open: CutRow | null = null; // A cut after which no event has come yet.
  for (const frame of frames) {
    if (frame.head !== undefined && !closes(frame)) {
      const cut = cutBefore(frame, last, connections);
      if (cut) rows.push(cut);
      open = cut ?? open;
      addHead(rows, frame);
      if (frame.bytes.length === 0) continue;
    }
    const row = frameRow(frame, startedAt, last);
    rows.push(row);
    if (row.seq === null) continue;
    if (open) rows[rows.indexOf(open)] = { ...open, gapMs: row.gapMs };
    open = null;
    last = row;
  }
  return rows;
}

/** A new connection's head, after events of another: what ended that one. */
function cutBefore(head: Frame, last: FrameRow | null, connections: readonly Connection[]): CutRow | null {
  if (head.direction === "in" || !opens(head) || last === null) return null;
  const end = endBefore(connections, head.at);
  return end === undefined || end === "last" ? null : { kind: "cut", end, after: last.seq, gapMs: null };
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
function addHead(rows: Row[], frame: Frame): void {
  const head = frame.protocol === "websocket" ? handshake(frame.head ?? "") : (frame.head ?? "");
  if (frame.direction === "out") {
    rows.push({ kind: "head", protocol: frame.protocol, text: head });
    return;
  }
  const asked = rows.findLastIndex((row) => row.kind === "head");
  const row = rows[asked];
  if (row?.kind !== "head" || row.protocol !== frame.protocol) return;
  rows[asked] = { ...row, text: `${row.text} · ${head.replace(/^(\S+) /, "$1 · ")}` };
}

/** What a browser does not show of a WebSocket's beginning is always the same (RFC 6455, section 4.1). */
function handshake(head: string): string {
  return head.replace(/^WebSocket (\S+).*/, "GET $1").replace(/^open\b/, "101");
}

/** Why the connection ended that closed last before a time. It closes in the turn in which the next one opens. */
function endBefore(connections: readonly Connection[], at: number): Connection["end"] {
  return connections.findLast(({ closedAt }) => closedAt !== undefined && closedAt <= at + SAME_TURN_MS)?.end;
}
