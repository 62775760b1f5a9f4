// Bytes as they come, cut into what belongs together: lines, blocks of server-sent events, frames of gRPC-Web. They
// may be cut anywhere on their way, so what is not whole yet is kept. Nothing is decoded before it is whole.

export interface Cutter {
  /** The pieces that are whole now, each with its framing. */
  push(chunk: Uint8Array): Uint8Array<ArrayBuffer>[];
  /** How many bytes wait for the rest of their piece. */
  readonly held: number;
}

/** Keeps the beginning of a piece without copying it again for each chunk. */
class Held {
  length = 0;
  private parts: Uint8Array[] = [];

  keep(part: Uint8Array): void {
    if (part.length === 0) return;
    this.parts.push(part.slice());
    this.length += part.length;
  }

  /** What was kept and this, in one piece. */
  release(last: Uint8Array): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(this.length + last.length);
    let at = 0;
    for (const part of this.parts) {
      whole.set(part, at);
      at += part.length;
    }
    whole.set(last, at);
    this.parts = [];
    this.length = 0;
    return whole;
  }
}

const LF = 0x0a;
const CR = 0x0d;

/** Lines that end with LF, which stays with them. */
export class Lines implements Cutter {
  private readonly kept = new Held();

  get held(): number {
    return this.kept.length;
  }

  push(chunk: Uint8Array): Uint8Array<ArrayBuffer>[] {
    const lines: Uint8Array<ArrayBuffer>[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      lines.push(this.kept.release(chunk.subarray(from, end + 1)));
      from = end + 1;
    }
    this.kept.keep(chunk.subarray(from));
    return lines;
  }
}

/**
 * Blocks of server-sent events: lines that end with LF, CR or CRLF, up to an empty one. A block whose last byte is CR
 * does not wait for an LF, which may never come; if it comes, it is put to the next block, as an empty line.
 */
export class Blocks implements Cutter {
  private readonly kept = new Held();
  private lineIsEmpty = true;
  private previous = 0;

  get held(): number {
    // An LF that belonged to the block before is nothing.
    return this.kept.length === 1 && this.previous === LF ? 0 : this.kept.length;
  }

  push(chunk: Uint8Array): Uint8Array<ArrayBuffer>[] {
    const blocks: Uint8Array<ArrayBuffer>[] = [];
    let from = 0;
    for (const [at, byte] of chunk.entries()) {
      if (byte === LF && this.previous === CR) {
        // The second half of a line's end.
      } else if (byte !== LF && byte !== CR) {
        this.lineIsEmpty = false;
      } else if (this.lineIsEmpty) {
        blocks.push(this.kept.release(chunk.subarray(from, at + 1)));
        from = at + 1;
      } else {
        this.lineIsEmpty = true;
      }
      this.previous = byte;
    }
    this.kept.keep(chunk.subarray(from));
    return blocks;
  }
}

const HEAD = 5;

/** gRPC-Web's frames: a byte of flags and four of length before each. */
export class Frames implements Cutter {
  private readonly kept = new Held();
  /** How long the next frame is, as far as is known. */
  private wanted = HEAD;

  get held(): number {
    return this.kept.length;
  }

  push(chunk: Uint8Array): Uint8Array<ArrayBuffer>[] {
    const frames: Uint8Array<ArrayBuffer>[] = [];
    let from = 0;
    while (this.kept.length + chunk.length - from >= this.wanted) {
      const to = from + this.wanted - this.kept.length;
      const piece = this.kept.release(chunk.subarray(from, to));
      from = to;
      const length = HEAD + new DataView(piece.buffer).getUint32(1);
      if (piece.length < length) {
        this.kept.keep(piece);
        this.wanted = length;
      } else {
        frames.push(piece);
        this.wanted = HEAD;
      }
    }
    this.kept.keep(chunk.subarray(from));
    return frames;
  }
}
