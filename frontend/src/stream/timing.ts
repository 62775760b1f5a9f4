// The waits of a run: a pause that can be cut short, and a watch that goes off unless it is fed.

/** Ends after its time, when woken, or when the browser says that the network is back. */
export class Pause {
  private end: (() => void) | null = null;

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        globalThis.removeEventListener?.("online", end);
        this.end = null;
        resolve();
      };
      const timer = setTimeout(end, ms);
      globalThis.addEventListener?.("online", end);
      this.end = end;
    });
  }

  wake(): void {
    this.end?.();
  }
}

/** Goes off once, `ms` after it was started or last fed; 0 is never. One timer, however often it is fed. */
export class Watch {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private fedAt = 0;
  private held = false;

  constructor(
    private readonly ms: number,
    private readonly goOff: () => void,
  ) {}

  /** Does nothing while it runs. */
  start(): void {
    if (this.timer !== undefined || this.ms <= 0) return;
    this.feed();
    this.arm(this.ms);
  }

  feed(): void {
    this.fedAt = performance.now();
    this.held = false;
  }

  /** Until it is fed again, time does not count. */
  hold(): void {
    this.held = true;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private arm(ms: number): void {
    this.timer = setTimeout(() => {
      const left = this.held ? this.ms : this.fedAt + this.ms - performance.now();
      if (left > 0) return this.arm(left);
      this.timer = undefined;
      this.goOff();
    }, ms);
  }
}
