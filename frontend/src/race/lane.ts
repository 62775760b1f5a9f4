// One answer of a race: what was received of it so far, gathered as it comes. It is changed in place; whoever draws it
// is told by the recordings, at most once a frame.
import type { Recording } from "../app/recordings";
import type { Figures } from "../charts/figures";
import { figuresOf } from "../charts/figures";
import type { Event } from "../stream/event";
import { isLast } from "../stream/event";
import type { Run } from "../stream/run";
import type { Frame, Protocol } from "../stream/transport";
import { bytesOnWire } from "../wire/framing";

/** `waiting`: for the first token. `unverified`: ended whole by its own account, but the digest says otherwise. */
export type LaneState =
  | "waiting"
  | "streaming"
  | "reconnecting"
  | "verified"
  | "unverified"
  | "finished"
  | "stopped"
  | "failed"
  | "lost";

export class Lane {
  text = "";
  /** When each piece of the answer came, milliseconds since the request. */
  readonly times: number[] = [];
  /** When the generation was there, before the engine had been asked. */
  startedMs: number | null = null;
  endMs: number | null = null;
  run: Run | null = null;
  /** What the run threw instead of ending. */
  error: string | null = null;
  readonly #cameAt = new Map<number, number>();
  #bytes = 0;
  #tokens = 0;

  constructor(
    readonly protocol: Protocol,
    readonly recording: Recording,
    readonly startedAt: number,
  ) {}

  frame(frame: Frame): void {
    const { message } = frame;
    if (!message || frame.direction === "out" || !("seq" in message)) return;
    this.#cameAt.set(message.seq, frame.at);
    if (message.type !== "text") return;
    this.#bytes += bytesOnWire(frame);
    this.#tokens += message.tokens ?? 1;
  }

  /** When an event came: with its frame, which may be some time before we got to it. */
  cameAt(event: Event): number {
    const at = this.#cameAt.get(event.seq) ?? performance.now();
    this.#cameAt.delete(event.seq);
    return at;
  }

  event(event: Event, at: number): void {
    if (isLast(event)) this.endMs = at - this.startedAt;
    else if (event.type === "notice") {
      if (event.kind === "restart") this.text = "";
    } else if (event.type === "started") {
      this.startedMs = at - this.startedAt;
    } else {
      this.times.push(at - this.startedAt);
      if (event.type === "text") this.text += event.text;
    }
  }

  figures(): Figures {
    return figuresOf({
      startedAt: 0,
      times: this.times,
      bytes: this.#bytes,
      tokens: this.#tokens,
      endedAt: this.endMs,
    });
  }

  get running(): boolean {
    return this.state === "waiting" || this.state === "streaming" || this.state === "reconnecting";
  }

  get state(): LaneState {
    if (this.error !== null) return "failed";
    const phase = this.run?.phase ?? "connecting";
    switch (phase) {
      case "connecting":
      case "streaming":
        return this.times.length === 0 ? "waiting" : "streaming";
      case "finished":
        return this.#cancelled() ? "stopped" : this.#checked();
      default:
        return phase;
    }
  }

  /** Why it failed, or why it is reconnecting: a code, where there is one, and words for those who do not know it. */
  get trouble(): { readonly message: string; readonly code: string | null } | null {
    const said = this.run?.failure ?? (this.state === "reconnecting" ? this.run?.trouble : null);
    if (said) return { message: said.message, code: said.code };
    return this.error === null ? null : { message: this.error, code: null };
  }

  #cancelled(): boolean {
    const last = this.recording.events.at(-1)?.event;
    return last?.type === "finished" && last.reason === "cancelled";
  }

  #checked(): LaneState {
    if (this.run?.verified === "mismatch") return "unverified";
    return this.run?.verified === "verified" ? "verified" : "finished";
  }
}
