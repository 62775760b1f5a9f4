// What came over the wire for each answer of this page's life, for Race and Wire to look at. Arrays grow in place, so
// that a frame costs a push; whoever draws subscribes and is told at most once a frame.

import type { Event } from "../stream/event";
import type { Connection, Run } from "../stream/run";
import type { Frame } from "../stream/transport";
import { afterFrame } from "./frames";

/** Recordings kept; the oldest that has ended makes room. */
const KEPT = 24;

export interface TimedEvent {
  /** performance.now() when it came. */
  readonly at: number;
  readonly event: Event;
}

export interface Recording {
  readonly id: string;
  /** What was asked, shortened. */
  readonly title: string;
  /** performance.now() at the request. */
  readonly startedAt: number;
  readonly frames: Frame[];
  /** Each event of the log once, in order. */
  readonly events: TimedEvent[];
  run: Run | null;
}

export class Recordings {
  readonly #byId = new Map<string, Recording>();
  readonly #listeners = new Set<() => void>();
  #list: readonly Recording[] = [];
  #version = 0;
  #told = true;

  /** Begins a recording, or takes the one of that id up again. */
  add(id: string, title: string): Recording {
    const known = this.#byId.get(id);
    if (known) return known;
    const recording = { id, title, startedAt: performance.now(), frames: [], events: [], run: null };
    this.#byId.set(id, recording);
    this.#makeRoom();
    this.#list = [...this.#byId.values()].reverse();
    this.#changed();
    return recording;
  }

  run(id: string, run: Run): void {
    const recording = this.#byId.get(id);
    if (recording) recording.run = run;
    this.#changed();
  }

  /** Asked anew from the start: the events of the log before do not count; what was on the wire was. */
  restart(id: string): void {
    const recording = this.#byId.get(id);
    if (recording) recording.events.length = 0;
    this.#changed();
  }

  frame(id: string, frame: Frame): void {
    this.#byId.get(id)?.frames.push(frame);
    this.#changed();
  }

  event(id: string, event: Event, at = performance.now()): void {
    this.#byId.get(id)?.events.push({ at, event });
    this.#changed();
  }

  get(id: string): Recording | undefined {
    return this.#byId.get(id);
  }

  /** The newest first; the same array until a recording is added or removed. */
  list(): readonly Recording[] {
    return this.#list;
  }

  connections(id: string): readonly Connection[] {
    return this.#byId.get(id)?.run?.connections ?? [];
  }

  remove(id: string): void {
    if (!this.#byId.delete(id)) return;
    this.#list = [...this.#byId.values()].reverse();
    this.#changed();
  }

  /** For useSyncExternalStore: a number that goes up with every change. */
  readonly version = (): number => this.#version;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #makeRoom(): void {
    for (const [id, { run }] of this.#byId) {
      if (this.#byId.size <= KEPT) return;
      if (run && !isRunning(run)) this.#byId.delete(id);
    }
  }

  #changed(): void {
    if (!this.#told) return;
    this.#told = false;
    afterFrame(() => {
      this.#told = true;
      this.#version += 1;
      for (const listener of this.#listeners) listener();
    });
  }
}

export function isRunning(run: Run): boolean {
  return run.phase === "connecting" || run.phase === "streaming" || run.phase === "reconnecting";
}

export const recordings = new Recordings();
