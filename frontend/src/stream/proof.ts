// Whether what was received is all there is: the last event holds the number of events and the digest of the text.

import type { Event, Last } from "./event.js";
import { sha256 } from "./sha256.js";

export class Proof {
  private events = 0;
  private text: string[] = [];

  /** Every event once, in order; the last one too. */
  add(event: Event): void {
    this.events += 1;
    if (event.type === "text") this.text.push(event.text);
    // The answer begins anew.
    if (event.type === "notice" && event.kind === "restart") this.text = [];
  }

  async holds(last: Last): Promise<boolean> {
    return this.events === last.events && (await digest(this.text.join(""))) === last.sha256;
  }
}

/** The hex digest of a text's UTF-8 bytes. */
export async function digest(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  const subtle = globalThis.crypto?.subtle as SubtleCrypto | undefined;
  const hash = subtle === undefined ? sha256(bytes) : new Uint8Array(await subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
