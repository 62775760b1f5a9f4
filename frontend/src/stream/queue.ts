// What listeners hear, in order, for one who waits: sockets and EventSource call back, readers iterate.

export class Queue<T> implements AsyncIterable<T> {
  private readonly items: T[] = [];
  private wake: (() => void) | null = null;
  private over = false;
  private error: unknown = null;

  push(item: T): void {
    if (this.over) return;
    this.items.push(item);
    this.wake?.();
  }

  /** Nothing more comes, and with an error the reader is thrown it behind what came before. */
  end(error: unknown = null): void {
    if (this.over) return;
    this.over = true;
    this.error = error;
    this.wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      yield* this.items.splice(0);
      if (this.items.length > 0) continue;
      if (this.over) break;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      this.wake = null;
    }
    if (this.error !== null) throw this.error;
  }
}
