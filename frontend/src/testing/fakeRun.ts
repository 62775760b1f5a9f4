// A run that a test leads through everything a real one may meet: events, breaks, refusals, its end.

import type { Streams } from "../chat/answers";
import { type Event, type Failure, isLast, type StartRequest } from "../stream/event";
import type { Connection, Phase, Run, RunOptions, Verified } from "../stream/run";
import type { Protocol } from "../stream/transport";

export class FakeRun implements Run {
  id: string | null = null;
  position = -1;
  phase: Phase = "connecting";
  verified: Verified = "unknown";
  failure: Failure | null = null;
  retryAt: number | null = null;
  readonly connections: Connection[] = [];
  readonly calls: string[] = [];
  readonly #ready: Event[] = [];
  #waiting: ((result: IteratorResult<Event>) => void) | null = null;

  constructor(
    readonly origin: StartRequest | { readonly id: string; readonly after: number | null },
    readonly options: RunOptions,
    public protocol: Protocol = options.protocol,
  ) {
    this.connect();
  }

  /** A new connection, after the present one ended for this reason. */
  connect(end?: Connection["end"], protocol = this.protocol): void {
    const last = this.connections.at(-1);
    if (last && end) Object.assign(last, { end, closedAt: performance.now() });
    this.protocol = protocol;
    this.connections.push({ protocol, openedAt: performance.now() });
    this.options.onChange?.(this);
  }

  give(event: Event): void {
    this.position = event.seq;
    this.phase = "streaming";
    const connection = this.connections.at(-1);
    if (connection) {
      connection.firstSeq ??= event.seq;
      connection.lastSeq = event.seq;
    }
    if (event.type === "started") this.id = event.id;
    if (isLast(event)) {
      this.phase = event.type;
      this.failure = event.type === "failed" ? event.error : null;
    }
    if (this.#waiting) this.#take({ done: false, value: event });
    else this.#ready.push(event);
  }

  end(phase: Phase, failure: Failure | null = null): void {
    this.phase = phase;
    this.failure = failure;
    this.#take({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): AsyncIterator<Event> {
    return {
      next: async () => {
        const value = this.#ready.shift();
        if (value) return { done: false, value };
        if (!["connecting", "streaming", "reconnecting"].includes(this.phase)) {
          return { done: true, value: undefined };
        }
        return new Promise((resolve) => {
          this.#waiting = resolve;
        });
      },
    };
  }

  switchTo(protocol: Protocol): void {
    this.calls.push(`switch ${protocol}`);
  }
  drop(): void {
    this.calls.push("drop");
  }
  retryNow(): void {
    this.calls.push("retry");
  }
  async cancel(): Promise<void> {
    this.calls.push("cancel");
  }
  stop(): void {
    this.calls.push("stop");
    this.end("stopped");
  }

  #take(result: IteratorResult<Event>): void {
    this.#waiting?.(result);
    this.#waiting = null;
  }
}

export interface FakeStreams extends Streams {
  readonly runs: FakeRun[];
  /** The run that was made last. */
  last(): FakeRun;
}

export function fakeStreams(): FakeStreams {
  const runs: FakeRun[] = [];
  const made = (run: FakeRun) => {
    runs.push(run);
    return run;
  };
  return {
    runs,
    last: () => runs.at(-1) as FakeRun,
    start: (request, options) => made(new FakeRun(request, options)),
    follow: (id, after, options) => made(new FakeRun({ id, after }, options)),
  };
}

export const started = (id = "gen_1"): Event => ({
  seq: 0,
  type: "started",
  id,
  model: "smollm2",
  engine: "ctranslate2",
  created: 1,
});

export const said = (seq: number, text: string): Event => ({ seq, type: "text", text });

export const finished = (seq: number, sha256 = ""): Event => ({
  seq,
  type: "finished",
  reason: "stop",
  events: seq + 1,
  sha256,
});

export const failed = (seq: number, code: string, retryable = true): Event => ({
  seq,
  type: "failed",
  error: { code, message: `the engine said ${code}`, retryable },
  events: seq + 1,
  sha256: "",
});

/** Everything that waits for a turn of the event loop has had it. */
export async function turns(count = 10): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
}
