// A recording as NDJSON: a line for each frame, with its bytes as text where they are text, else in base64.
import type { Recording } from "../app/recordings";
import type { Frame } from "../stream/transport";

const strict = new TextDecoder("utf-8", { fatal: true });

export function ndjsonOf({ frames, startedAt }: Recording): string {
  return frames.map((frame) => `${JSON.stringify(lineFor(frame, startedAt))}\n`).join("");
}

export function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The download has begun with the click, but not every browser has read the blob by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function lineFor({ at, protocol, direction, head, bytes, message }: Frame, startedAt: number) {
  return {
    t_ms: Number((at - startedAt).toFixed(3)),
    protocol,
    direction,
    ...(head === undefined ? {} : { head }),
    ...contents(bytes),
    ...(message === undefined ? {} : { message }),
  };
}

function contents(bytes: Uint8Array): { text: string } | { base64: string } {
  try {
    return { text: strict.decode(bytes) };
  } catch {
    return { base64: btoa(String.fromCharCode(...bytes)) };
  }
}
