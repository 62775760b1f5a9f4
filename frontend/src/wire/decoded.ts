// What a frame says, as JSON, and what it would take over another protocol.
import type { Frame } from "../stream/transport";
import { websocketHeader } from "./framing";

const utf8 = new TextEncoder();

/** JSON that is in the bytes as it stands there, with fields we do not know; else the message read from them. */
export function decodedOf(frame: Frame): unknown {
  if (frame.protocol === "rest" || frame.protocol === "websocket" || frame.direction === "out") {
    const parsed = parse(new TextDecoder().decode(frame.bytes));
    if (parsed !== undefined) return parsed;
  }
  return frame.message;
}

/** The size of the same event elsewhere: over SSE, and of one that came by SSE over a WebSocket. */
export function elsewhere({
  protocol,
  direction,
  message,
}: Frame): { over: "sse" | "websocket"; bytes: number } | null {
  if (direction === "out" || !message || !("seq" in message)) return null;
  const json = asciiJson(message);
  if (protocol !== "sse") {
    return { over: "sse", bytes: `id: ${message.seq}\nevent: ${message.type}\ndata: ${json}\n\n`.length };
  }
  const bytes = utf8.encode(`{"ref":"a",${json.slice(1)}`);
  return {
    over: "websocket",
    bytes: websocketHeader({ protocol, direction, at: 0, bytes }).length + bytes.length,
  };
}

/** As the server writes it: nothing but ASCII. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface JsonToken {
  readonly text: string;
  readonly kind: "key" | "string" | "number" | "rest";
}

const TOKEN = /("(?:\\.|[^"\\])*")(?=(\s*:)?)|-?\d[\d.eE+-]*/g;

/** Indented JSON in pieces of one colour. */
export function jsonTokens(value: unknown): JsonToken[] {
  const text = JSON.stringify(value, null, 2) ?? "";
  const tokens: JsonToken[] = [];
  let done = 0;
  for (const found of text.matchAll(TOKEN)) {
    if (found.index > done) tokens.push({ text: text.slice(done, found.index), kind: "rest" });
    const [whole, string, colon] = found;
    tokens.push({
      text: whole,
      kind: string === undefined ? "number" : colon === undefined ? "string" : "key",
    });
    done = found.index + whole.length;
  }
  if (done < text.length) tokens.push({ text: text.slice(done), kind: "rest" });
  return tokens;
}
