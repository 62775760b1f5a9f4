// A run over one connection after another: it keeps the position, and comes back with it until the log has ended.
// Everything happens in the turn of whoever iterates; switchTo, drop and stop only cut what it is waiting for.

import { Backoff } from "./backoff.js";
import { cancelStream } from "./cancel.js";
import { type Event, type Failure, isLast, type Last, type Message, type StartRequest } from "./event.js";
import { place } from "./position.js";
import { Proof } from "./proof.js";
import type { Connection, FollowRun, Phase, Run, RunOptions, StartRun, Verified } from "./run.js";
import { Pause, Watch } from "./timing.js";
import { Broken, type Options, type Protocol, Refused } from "./transport.js";
import { TRANSPORTS } from "./transports.js";

/** Three of the server's heartbeats (HEARTBEAT_S). */
const SILENCE_MS = 30_000;

export const startRun: StartRun = (request, options) => new Following({ request }, options);
export const followRun: FollowRun = (id, after, options) => new Following({ id, after }, options);

type Origin = { readonly request: StartRequest } | { readonly id: string; readonly after: number | null };

class Following implements Run {
  id: string | null;
  position: number;
  phase: Phase = "connecting";
  protocol: Protocol;
  verified: Verified = "unknown";
  failure: Failure | null = null;
  retryAt: number | null = null;
  trouble: Failure | null = null;
  readonly connections: Connection[] = [];

  private readonly request: StartRequest | null;
  /** Without it a start whose answer was lost could not be repeated. */
  private readonly key: string;
  private readonly proof: Proof | null;
  private readonly backoff = new Backoff();
  private readonly pause = new Pause();
  private readonly patience: Watch;
  private readonly waitForId: (() => void)[] = [];
  private iterated = false;
  private heardEvent = false;
  /** Cuts the present connection, and why it was cut. */
  private cut = new AbortController();
  private cutAs: Connection["end"];
  /** How long the server asked us to wait, milliseconds. */
  private askedToWait = 0;

  constructor(
    origin: Origin,
    private readonly options: RunOptions,
  ) {
    const follows = "id" in origin;
    this.request = follows ? null : origin.request;
    this.id = follows ? origin.id : null;
    this.position = (follows ? origin.after : null) ?? -1;
    this.proof = this.position < 0 ? new Proof() : null;
    this.protocol = options.protocol;
    this.key = options.idempotencyKey ?? newKey();
    this.patience = new Watch(options.patienceMs ?? 0, () => this.giveUp());
  }

  [Symbol.asyncIterator](): AsyncIterator<Event, void> {
    if (this.iterated) throw new Error("A run can be iterated once.");
    this.iterated = true;
    const events = this.events();
    // To leave the loop is to stop; a generator alone would first wait for what it is waiting for.
    const leave = () => {
      this.stop();
      return events.return();
    };
    return { next: () => events.next(), return: leave };
  }

  switchTo(protocol: Protocol): void {
    if (this.over || protocol === this.protocol) return;
    this.protocol = protocol;
    this.hangUp("switched");
    this.pause.wake();
    this.changed();
  }

  drop(): void {
    this.hangUp("dropped");
  }

  retryNow(): void {
    this.pause.wake();
  }

  stop(): void {
    this.hangUp("dropped");
    this.finish("stopped");
  }

  async cancel(): Promise<void> {
    if (this.id === null && !this.over) await new Promise<void>((known) => this.waitForId.push(known));
    if (this.id !== null && !this.over) await cancelStream(this.options.base ?? "", this.id);
  }

  private get over(): boolean {
    return ["finished", "failed", "lost", "stopped"].includes(this.phase);
  }

  private async *events(): AsyncGenerator<Event, void> {
    while (!this.over) {
      this.patience.start();
      yield* this.connection();
      if (!this.over && this.cutAs !== "switched") await this.waitToReconnect();
    }
  }

  /** The new events of one connection. */
  private async *connection(): AsyncGenerator<Event> {
    const connection: Connection = { protocol: this.protocol, openedAt: performance.now() };
    this.connections.push(connection);
    const cut = new AbortController();
    this.cut = cut;
    this.cutAs = undefined;
    this.askedToWait = 0;
    const silence = new Watch(this.silenceMs(), () => this.hangUp("broken"));
    this.changed();
    try {
      silence.start();
      for await (const message of this.call(cut.signal)) {
        if (cut.signal.aborted) break;
        silence.hold();
        const event = this.take(message, connection);
        if (event !== null && isLast(event)) await this.conclude(event);
        // Stopped while the digest was computed.
        if (this.phase === "stopped") break;
        if (event !== null) yield event;
        if (connection.end !== undefined || this.over) break;
        silence.feed();
      }
      if (!cut.signal.aborted && connection.end === undefined) this.endedWithoutAWord();
    } catch (error) {
      if (!cut.signal.aborted) this.stumble(error);
    } finally {
      silence.stop();
      cut.abort();
      connection.end ??= this.cutAs ?? "broken";
      connection.closedAt = performance.now();
      this.changed();
    }
  }

  private call(signal: AbortSignal): AsyncIterable<Message> {
    const { base = "", onFrame, transports } = this.options;
    const transport = transports?.[this.protocol] ?? TRANSPORTS[this.protocol];
    const options: Options = { base, signal, ...(onFrame && { onFrame }) };
    if (this.id !== null) return transport.follow(this.id, this.position < 0 ? null : this.position, options);
    return transport.start(this.request as StartRequest, { ...options, idempotencyKey: this.key });
  }

  /** The event in a message, if it is one and new. */
  private take(message: Message, connection: Connection): Event | null {
    switch (message.type) {
      case "heartbeat":
        this.alive();
        return null;
      case "come_back":
        connection.end = "come_back";
        this.askedToWait = message.retry_after_ms;
        return null;
      case "lost":
        this.lose(`The server no longer has what is behind event ${this.position}.`);
        return null;
    }
    const found = place(message, this.position);
    if (found === "hole") this.lose(`Event ${message.seq} came behind event ${this.position}.`);
    if (found !== "next") return null;
    this.accept(message, connection);
    return message;
  }

  private accept(event: Event, connection: Connection): void {
    this.position = event.seq;
    this.heardEvent = true;
    this.trouble = null;
    this.proof?.add(event);
    this.backoff.reset();
    connection.lastSeq = event.seq;
    if (isLast(event)) connection.end = "last";
    if (event.type === "started") {
      this.id = event.id;
      this.idIsKnown();
    }
    if (connection.firstEventAt === undefined) {
      connection.firstEventAt = performance.now();
      connection.firstSeq = event.seq;
      this.changed();
    }
    this.alive();
  }

  private alive(): void {
    this.patience.stop();
    if (this.phase !== "streaming") this.enter("streaming");
  }

  private async conclude(last: Last): Promise<void> {
    if (this.proof !== null) this.verified = (await this.proof.holds(last)) ? "verified" : "mismatch";
    if (last.type === "failed") this.finish("failed", last.error);
    else this.finish("finished");
  }

  /** A follow without a message is at the end of the log. Where events came, it would have had the last one. */
  private endedWithoutAWord(): void {
    if (this.over) return;
    if (this.position >= 0 && !this.heardEvent) this.finish("finished");
    else this.stumble(new Broken("The answer ended before its last event."));
  }

  private stumble(error: unknown): void {
    if (error instanceof Broken) {
      this.trouble = { code: "disconnected", message: error.message, retryable: true };
    } else if (error instanceof Refused) {
      this.refused(error);
    } else {
      this.finish("failed", { code: "internal", message: String(error), retryable: false });
      throw error;
    }
  }

  private refused(error: Refused): void {
    const { code, message, retryable, param } = error;
    const failure: Failure = { code, message, retryable, ...(param !== undefined && { param }) };
    const wasThere = this.position >= 0;
    if (code === "position_lost" || (code === "not_found" && wasThere)) this.finish("lost", failure);
    else if (!retryable) this.finish("failed", failure);
    else {
      this.trouble = failure;
      this.askedToWait = error.retryAfterMs ?? 0;
    }
  }

  private async waitToReconnect(): Promise<void> {
    const ms = this.askedToWait + this.backoff.next();
    this.patience.start();
    this.retryAt = performance.now() + ms;
    this.enter("reconnecting");
    await this.pause.wait(ms);
    this.retryAt = null;
    if (!this.over) this.changed();
  }

  private lose(message: string): void {
    this.finish("lost", { code: "position_lost", message, retryable: false });
  }

  private giveUp(): void {
    const last = this.trouble ?? { code: "disconnected", message: "No answer came.", retryable: true };
    this.hangUp("broken");
    this.finish("failed", last);
  }

  private hangUp(end: Connection["end"]): void {
    if (this.cut.signal.aborted) return;
    this.cutAs = end;
    this.cut.abort();
  }

  private finish(phase: Phase, failure: Failure | null = null): void {
    if (this.over) return;
    this.failure = failure;
    this.retryAt = null;
    this.patience.stop();
    this.enter(phase);
    this.pause.wake();
    this.idIsKnown();
  }

  private enter(phase: Phase): void {
    this.phase = phase;
    this.changed();
  }

  private idIsKnown(): void {
    for (const known of this.waitForId.splice(0)) known();
  }

  private changed(): void {
    this.options.onChange?.(this);
  }

  private silenceMs(): number {
    const mute = this.options.transports?.[this.protocol]?.mute ?? false;
    return mute ? 0 : (this.options.silenceMs ?? SILENCE_MS);
  }
}

/** crypto.randomUUID is missing where crypto.subtle is. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
