// One answer being followed: events go into it as they come, and once a frame what has come is shown. A connection's
// end is a seam; the log's end is checked by its digest, also where it was followed by several pages in turn.

import { afterFrame } from "../app/frames";
import type { Recordings } from "../app/recordings";
import { isLast, type Last } from "../stream/event";
import { digest } from "../stream/proof";
import type { Connection, Phase, Run, RunOptions, Verified } from "../stream/run";
import type { Answer, PastConnection, Seam } from "./conversation";
import { withEvent, withSeam } from "./reduce";

/** An answer that is on its way, and how. */
export interface Live {
  readonly answer: Answer;
  readonly phase: Phase;
  /** performance.now() of the next attempt to connect. */
  readonly retryAt: number | null;
  /** The code of what the last attempt to connect met. */
  readonly trouble: string | null;
}

export interface FollowingOptions {
  readonly answer: Answer;
  /** Made with our callbacks: a start, or a follow. */
  readonly run: (options: Pick<RunOptions, "onFrame" | "onChange">) => Run;
  readonly recordings: Recordings;
  /** Once a frame, when something has changed. */
  readonly onChange: (live: Live) => void;
}

export class Following {
  readonly run: Run;
  #answer: Answer;
  /** Connections of earlier pages, or of an attempt before. */
  readonly #past: readonly PastConnection[];
  readonly #options: FollowingOptions;
  #seen = 0;
  /** Nothing is shown any more. */
  #left = false;

  constructor(options: FollowingOptions) {
    this.#options = options;
    this.#answer = options.answer;
    this.#past = options.answer.connections;
    this.run = options.run({
      onFrame: (frame) => {
        options.recordings.frame(this.#answer.id, frame);
        if (frame.direction === "in") this.#patch({ bytes: this.#answer.bytes + frame.bytes.length });
      },
      onChange: () => this.#changed(),
    });
    options.recordings.run(options.answer.id, this.run);
  }

  /** Follows to the end; resolves to what has come of the answer. */
  async toEnd(): Promise<Answer> {
    let last: Last | null = null;
    for await (const event of this.run) {
      const at = performance.now();
      this.#takeSeam(at);
      this.#answer = withEvent(this.#answer, event, performance.timeOrigin + at);
      this.#options.recordings.event(this.#answer.id, event, at);
      // The end is shown by whoever decides what comes of it: a failure may be asked again without a word.
      if (isLast(event)) last = event;
      else this.#changed();
    }
    const wasLeft = this.#left;
    this.#left = true;
    this.#patch({ connections: this.#connections(), wait: null, ...this.#ending(wasLeft) });
    if (last) this.#patch({ verified: await this.#verified(last) });
    return this.#answer;
  }

  /** Stops showing what comes, without stopping the generation. */
  leave(): void {
    this.#left = true;
    this.run.stop();
  }

  /** The seam before the event that a new connection brings. */
  #takeSeam(at: number): void {
    const { connections } = this.run;
    const present = connections.at(-1);
    if (!present || connections.length <= this.#seen) return;
    // Attempts that brought nothing lie between: why the one ended that did counts.
    const cause = this.#seen === 0 ? this.#causeOfFirst() : (connections[this.#seen - 1]?.end ?? "broken");
    this.#seen = connections.length;
    if (cause) this.#answer = withSeam(this.#answer, present.protocol, cause, performance.timeOrigin + at);
  }

  /** An answer that this page takes up in the middle. */
  #causeOfFirst(): Seam["cause"] | null {
    return this.#answer.position >= 0 ? "reloaded" : null;
  }

  #ending(wasLeft: boolean): Partial<Answer> {
    const { phase, failure } = this.run;
    if (this.#answer.state !== "running") return {};
    if (phase === "finished") return { state: "finished" };
    if (phase === "lost") return { state: "lost", failure };
    if (phase === "stopped") return wasLeft ? {} : { state: "stopped" };
    return { state: "failed", failure: failure ?? UNKNOWN };
  }

  async #verified(last: Last): Promise<Verified> {
    if (this.run.verified !== "unknown") return this.run.verified;
    return (await digest(this.#answer.text)) === last.sha256 ? "verified" : "mismatch";
  }

  #connections(): readonly PastConnection[] {
    return [...this.#past, ...this.run.connections.map(facts)];
  }

  #patch(change: Partial<Answer>): void {
    this.#answer = { ...this.#answer, ...change };
  }

  #changed(): void {
    afterFrame(this.#show);
  }

  readonly #show = (): void => {
    if (this.#left) return;
    this.#patch({ connections: this.#connections() });
    const { phase, retryAt, trouble = null } = this.run;
    this.#options.onChange({ answer: this.#answer, phase, retryAt, trouble: trouble?.code ?? null });
  };
}

const UNKNOWN = { code: "unknown", message: "The stream ended without a last event.", retryable: true };

function facts(connection: Connection): PastConnection {
  const { protocol, openedAt, firstEventAt, closedAt, firstSeq, lastSeq, end } = connection;
  return {
    protocol,
    firstSeq: firstSeq ?? null,
    lastSeq: lastSeq ?? null,
    ms: Math.round((closedAt ?? performance.now()) - openedAt),
    firstMs: firstEventAt === undefined ? null : Math.round(firstEventAt - openedAt),
    end: end ?? null,
  };
}
