// Runs that say what a test tells them to, and frames as each protocol's would be.
import type { Event, Failure, Message, StartRequest } from "../stream/event";
import { isLast } from "../stream/event";
import type { Connection, Phase, Run, RunOptions, StartRun, Verified } from "../stream/run";
import type { Frame, Protocol } from "../stream/transport";

const utf8 = new TextEncoder();

export class ScriptedRun implements Run {
  readonly id = "gen_scripted";
  position = -1;
  phase: Phase = "connecting";
  verified: Verified = "unknown";
  failure: Failure | null = null;
  trouble: Failure | null = null;
  retryAt: number | null = null;
  connections: Connection[] = [];
  cancelled = false;
  stopped = false;
  readonly protocol: Protocol;
  readonly #waiting: ((result: IteratorResult<Event>) => void)[] = [];
  readonly #events: Event[] = [];
  #over = false;

  constructor(
    readonly request: StartRequest,
    readonly options: RunOptions,
  ) {
    this.protocol = options.protocol;
  }

  /** An event that came at a time, in its frame. */
  give(event: Event, at = performance.now()): void {
    this.options.onFrame?.(frameOf(this.protocol, event, at));
    this.phase = "streaming";
    this.position = event.seq;
    if (isLast(event)) this.#end(event.type, event.type === "failed" ? event.error : null);
    const waits = this.#waiting.shift();
    if (waits) waits({ done: false, value: event });
    else this.#events.push(event);
  }

  #end(phase: "finished" | "failed", failure: Failure | null): void {
    this.phase = phase;
    this.failure = failure;
    this.verified = phase === "finished" ? "verified" : "unknown";
    this.#over = true;
  }

  [Symbol.asyncIterator](): AsyncIterator<Event> {
    return {
      next: async () => {
        const value = this.#events.shift();
        if (value) return { done: false, value };
        if (this.#over) return { done: true, value: undefined };
        return new Promise((resolve) => this.#waiting.push(resolve));
      },
    };
  }

  switchTo(): void {}
  drop(): void {}
  retryNow(): void {}
  stop(): void {
    this.stopped = true;
  }
  async cancel(): Promise<void> {
    this.cancelled = true;
  }
}

/** Starts scripted runs and keeps them, by protocol. */
export function scripted(): { readonly start: StartRun; readonly runs: Map<Protocol, ScriptedRun> } {
  const runs = new Map<Protocol, ScriptedRun>();
  const start: StartRun = (request, options) => {
    const run = new ScriptedRun(request, options);
    runs.set(options.protocol, run);
    return run;
  };
  return { start, runs };
}

export function frameOf(protocol: Protocol, message: Message, at: number): Frame {
  const json = JSON.stringify(message);
  const spelled: Readonly<Record<Protocol, string>> = {
    rest: `${json}\n`,
    sse: `id: ${"seq" in message ? message.seq : ""}\nevent: ${message.type}\ndata: ${json}\n\n`,
    websocket: `{"ref":"a",${json.slice(1)}`,
    grpcweb: `\0\0\0\0\u0010${"text" in message ? message.text : message.type}`,
  };
  return { at, protocol, direction: "in", bytes: utf8.encode(spelled[protocol]), message };
}

export function startedEvent(): Event {
  return { seq: 0, type: "started", id: "gen_scripted", model: "smollm2", engine: "scripted", created: 0 };
}

export function textEvent(seq: number, text: string): Event {
  return { seq, type: "text", text };
}

export function finishedEvent(seq: number): Event {
  return { seq, type: "finished", reason: "stop", events: seq + 1, sha256: "" };
}
