// How long to wait before the next attempt: exponential, with full jitter, so that the clients of a server that went
// away do not all come back in the same moment.

const FIRST_MS = 250;
const LONGEST_MS = 10_000;

export class Backoff {
  private attempts = 0;

  /** Between nothing and a limit that doubles with each attempt. */
  next(): number {
    const limit = Math.min(FIRST_MS * 2 ** this.attempts, LONGEST_MS);
    this.attempts += 1;
    return Math.random() * limit;
  }

  /** An event came: the next failure is a first one. */
  reset(): void {
    this.attempts = 0;
  }
}
