// What is kept of a conversation. Plain data, so that it can be stored, sent to another tab, and exported as it is.

import type { Failure, Reason, Usage } from "../stream/event";
import type { Connection, Verified } from "../stream/run";
import type { Protocol } from "../stream/transport";

/** Absent: the engine decides. */
export interface Sampling {
  readonly temperature?: number;
  readonly max_tokens?: number;
  readonly seed?: number;
  readonly top_p?: number;
  readonly top_k?: number;
}

export type OnDisconnect = "grace" | "continue" | "cancel";

export interface Settings {
  readonly system: string;
  /** null: the server's default. */
  readonly model: string | null;
  readonly sampling: Sampling;
  readonly onDisconnect: OnDisconnect;
}

export interface Conversation {
  readonly id: string;
  /** Empty until the first message gives it one. */
  readonly title: string;
  /** Milliseconds since 1970, as all times here. */
  readonly created: number;
  readonly updated: number;
  readonly settings: Settings;
  readonly turns: readonly Turn[];
}

export interface Turn {
  readonly id: string;
  readonly at: number;
  readonly ask: string;
  readonly answer: Answer;
}

/** `busy`: the server had no room; it is sent again at `resendAt`. */
export type AnswerState = "running" | "busy" | "finished" | "stopped" | "failed" | "lost";

/** Where one connection's text ends and the next one's begins. */
export interface Seam {
  /** The offset in the text at which it fell. */
  readonly at: number;
  /** The last event before it. */
  readonly seq: number;
  /** What carries the text from there on. */
  readonly protocol: Protocol;
  readonly cause: NonNullable<Connection["end"]> | "reloaded";
  readonly time: number;
  /** How many breaks it stands for. */
  readonly count: number;
}

/** A connection of which nothing is left but these facts. */
export interface PastConnection {
  readonly protocol: Protocol;
  readonly firstSeq: number | null;
  readonly lastSeq: number | null;
  readonly ms: number;
  /** From its request to its first event. */
  readonly firstMs: number | null;
  readonly end: Connection["end"] | null;
}

export interface ToolCallText {
  readonly name: string;
  readonly arguments: string;
}

export type Wait =
  | { readonly kind: "queued"; readonly place: number }
  | { readonly kind: "reading"; readonly done: number; readonly total: number };

export interface Answer {
  /** Ours, and the recording's. */
  readonly id: string;
  /** The server's, known from the first event on. */
  readonly streamId: string | null;
  readonly state: AnswerState;
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly toolCalls: readonly ToolCallText[];
  readonly filtered: boolean;
  readonly restarted: boolean;
  /** seq of the last event that is in here; -1 before the first. */
  readonly position: number;
  readonly protocol: Protocol;
  readonly seams: readonly Seam[];
  readonly connections: readonly PastConnection[];
  readonly model: string | null;
  readonly engine: string | null;
  /** How many of the oldest turns were not sent, because they no longer fit. */
  readonly omitted: number;
  readonly askedAt: number;
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  readonly tokens: number;
  readonly bytes: number;
  readonly wait: Wait | null;
  readonly resendAt: number | null;
  readonly reason: Reason | null;
  readonly usage: Usage | null;
  readonly failure: Failure | null;
  readonly verified: Verified;
}

export const NO_SETTINGS: Settings = { system: "", model: null, sampling: {}, onDisconnect: "grace" };

export function newAnswer(id: string, protocol: Protocol, omitted: number, now: number): Answer {
  return {
    id,
    streamId: null,
    state: "running",
    text: "",
    reasoning: "",
    refusal: "",
    toolCalls: [],
    filtered: false,
    restarted: false,
    position: -1,
    protocol,
    seams: [],
    connections: [],
    model: null,
    engine: null,
    omitted,
    askedAt: now,
    firstAt: null,
    lastAt: null,
    tokens: 0,
    bytes: 0,
    wait: null,
    resendAt: null,
    reason: null,
    usage: null,
    failure: null,
    verified: "unknown",
  };
}

export function isOpen(answer: Answer): boolean {
  return answer.state === "running" || answer.state === "busy";
}

/** The protocol that carries the end of the text. */
export function lastProtocol(answer: Answer): Protocol {
  return answer.seams.at(-1)?.protocol ?? answer.protocol;
}

/** A title from what was first asked: its first line, as long as a list shows. */
export function titleFrom(ask: string): string {
  const line = ask.trim().split("\n", 1)[0] ?? "";
  const letters = [...line];
  return letters.length > 60 ? `${letters.slice(0, 59).join("").trimEnd()}…` : line;
}
