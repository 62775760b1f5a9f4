// One generation as a program follows it: over any protocol, over any number of connections, with nothing lost and
// nothing doubled. resume.ts makes them; this file says what they are.

import type { Event, Failure, StartRequest } from "./event.js";
import type { Frame, Protocol, Transport } from "./transport.js";

/** One connection of a run. Times are of performance.now(). */
export interface Connection {
  readonly protocol: Protocol;
  readonly openedAt: number;
  firstEventAt?: number;
  closedAt?: number;
  firstSeq?: number;
  lastSeq?: number;
  /** Why it ended: the log did, we dropped it, we switched, the server asked us to come back, or it broke. */
  end?: "last" | "dropped" | "switched" | "come_back" | "broken";
}

/** How a run stands. `lost`: the store no longer holds our position; `failed`: see `failure`. */
export type Phase = "connecting" | "streaming" | "reconnecting" | "finished" | "failed" | "lost" | "stopped";

/** What was checked at the end. `unknown`: it has not ended, or it was not followed from its first event. */
export type Verified = "unknown" | "verified" | "mismatch";

export interface RunOptions {
  readonly base?: string;
  readonly protocol: Protocol;
  readonly onFrame?: (frame: Frame) => void;
  /** Called when phase or connections change. */
  readonly onChange?: (run: Run) => void;
  /** Gives up reconnecting after so long without an event, milliseconds; 0 and absent are never. */
  readonly patienceMs?: number;
  /** A connection silent for so long is dead, and is cut; longer than a few heartbeats; default 30 s, 0 is never. */
  readonly silenceMs?: number;
  /** Other transports than the package's own, such as eventsource.ts for `sse`. */
  readonly transports?: Readonly<Partial<Record<Protocol, Transport>>>;
  /** The key of a start; default: a new one for each run. */
  readonly idempotencyKey?: string;
}

/**
 * Iterate once; events come in order, each once. Nothing is sent before iteration begins, and to leave the loop is
 * to stop. Iteration ends with the last event, `lost`, `failed` or `stop`; by then the phase tells which.
 */
export interface Run extends AsyncIterable<Event> {
  readonly id: string | null;
  /** seq of the last event received; -1 before the first. */
  readonly position: number;
  readonly phase: Phase;
  readonly protocol: Protocol;
  readonly connections: readonly Connection[];
  readonly verified: Verified;
  readonly failure: Failure | null;
  /** While reconnecting: what the last attempt met. */
  readonly trouble?: Failure | null;
  /** performance.now() at which the next attempt to connect is made, while reconnecting. */
  readonly retryAt: number | null;
  /** Go on over another protocol, from the event that was reached. */
  switchTo(protocol: Protocol): void;
  /** Cut the connection, as a lost network would; the run reconnects by itself. */
  drop(): void;
  /** Reconnect now instead of at `retryAt`. */
  retryNow(): void;
  /** Cancel the generation at the server; the run ends with its last event. */
  cancel(): Promise<void>;
  /** Stop following; the generation goes on as its on_disconnect says. */
  stop(): void;
}

export type StartRun = (request: StartRequest, options: RunOptions) => Run;
export type FollowRun = (id: string, after: number | null, options: RunOptions) => Run;
