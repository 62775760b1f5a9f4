// Bytes as a dump: where, which, and the characters among them.

const PER_LINE = 8;
/** A dump is to be read; what is longer is exported. */
export const SHOWN_BYTES = 2048;

export function hexDump(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let from = 0; from < Math.min(bytes.length, SHOWN_BYTES); from += PER_LINE) {
    const part = [...bytes.subarray(from, from + PER_LINE)];
    const codes = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const signs = part.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${from.toString(16).padStart(4, "0")}  ${codes.padEnd(PER_LINE * 3 - 1)}  ${signs}`);
  }
  return lines.join("\n");
}

export function joined(head: Uint8Array, body: Uint8Array): Uint8Array {
  const all = new Uint8Array(head.length + body.length);
  all.set(head);
  all.set(body, head.length);
  return all;
}
