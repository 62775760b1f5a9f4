// What every protocol's file offers: the same two calls, which yield what the server says, in order, as it comes.
// A call ends with the log's last event, with come_back or lost, or throws; it never reconnects (resume.ts does).
// A follow that is already at the end of an ended log ends without a message. Aborted, a call throws or just ends.

import type { Message, StartRequest } from "./event.js";

export type Protocol = "rest" | "sse" | "websocket" | "grpcweb";
export const PROTOCOLS: readonly Protocol[] = ["rest", "sse", "websocket", "grpcweb"];

/** A piece of the connection as it came or went, for those who want to look at the wire. */
export interface Frame {
  /** performance.now() when it came. */
  readonly at: number;
  readonly protocol: Protocol;
  readonly direction: "in" | "out";
  /** What opens a connection: method, path, status, content type, in words. */
  readonly head?: string;
  /** The bytes of one event or message with its framing, where the browser shows them (a WebSocket's payload only). */
  readonly bytes: Uint8Array;
  /** The message that the bytes spell, when they spell one. */
  readonly message?: Message;
}

export interface Options {
  /** Where the front door is; "" is the page's own origin. */
  readonly base: string;
  readonly signal: AbortSignal;
  readonly onFrame?: (frame: Frame) => void;
  readonly idempotencyKey?: string;
}

export interface Transport {
  readonly protocol: Protocol;
  /** Its heartbeats do not show, so that silence says nothing about the connection. */
  readonly mute?: boolean;
  /** Start a generation. */
  start(request: StartRequest, options: Options): AsyncIterable<Message>;
  /** The events behind `after` (null: from the start). */
  follow(id: string, after: number | null, options: Options): AsyncIterable<Message>;
}

/** An error instead of an answer: the table's code, HTTP's status where there is one, and how long to wait. */
export class Refused extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly retryable: boolean,
    readonly retryAfterMs?: number,
    readonly param?: string,
  ) {
    super(message);
    this.name = "Refused";
  }
}

/** The connection ended or broke before the log did: come back with the position. */
export class Broken extends Error {
  constructor(message: string) {
    super(message);
    this.name = "Broken";
  }
}
