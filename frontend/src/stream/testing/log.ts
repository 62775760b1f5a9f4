// Logs to be streamed in tests, and what each protocol makes of a message.

import { createHash } from "node:crypto";
import { create, fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { EventSchema } from "../../gen/polystream/v1/streams_pb.js";
import type { Event, Message, StartRequest } from "../event.js";
import type { Protocol } from "../transport.js";

export const ID = "gen_test";
export const REQUEST: StartRequest = { messages: [{ role: "user", content: "Hello" }] };
/** Characters of one to four bytes, and those at which some readers break lines. */
export const PIECES = [
  "Grüße",
  " an\u2028die\u2029Welt",
  " 日本語",
  " 👩‍👩‍👧",
  "\u0085\r\n",
  "\n\n",
  " data: x\n",
  "\ufeffend",
];
const utf8 = new TextEncoder();

/** A whole log: `started`, these pieces of text, `finished` with the true digest. */
export function logOf(pieces: readonly string[] = PIECES, id = ID): Event[] {
  const started: Event = { seq: 0, type: "started", id, model: "m", engine: "scripted", created: 1796057692 };
  const texts = pieces.map((text, at): Event => ({ seq: at + 1, type: "text", text, tokens: 1 }));
  return [started, ...texts, finished(pieces.length + 1, pieces.join(""))];
}

export function finished(seq: number, text: string, events = seq + 1): Event {
  const usage = { input_tokens: 1, output_tokens: seq, estimated: true };
  return { seq, type: "finished", reason: "stop", usage, model: "m", events, sha256: sha256(text) };
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export function textOf(events: readonly Message[]): string {
  return events.map((event) => (event.type === "text" ? event.text : "")).join("");
}

/** The JSON of the server, which is ASCII; `raw` leaves all else as it is. */
export function json(value: object, raw = false): string {
  const text = JSON.stringify(value);
  if (raw) return text;
  return text.replace(
    /[\u0080-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export function ndjson(message: Message, raw = false): Uint8Array<ArrayBuffer> {
  return utf8.encode(`${json(message, raw)}\n`);
}

export function sse(message: Message, raw = false, eol = "\n"): Uint8Array<ArrayBuffer> {
  if (message.type === "heartbeat") return utf8.encode(`: heartbeat${eol}${eol}`);
  const id = "seq" in message ? `id: ${message.seq}${eol}` : "";
  return utf8.encode(`${id}event: ${message.type}${eol}data: ${json(message, raw)}${eol}${eol}`);
}

export function websocket(message: Message): Uint8Array<ArrayBuffer> {
  return utf8.encode(json({ ...(message.type !== "heartbeat" && { ref: "a" }), ...message }));
}

export function grpcweb(message: Message): Uint8Array<ArrayBuffer> {
  const { type, ...fields } = message as { type: string } & JsonObject;
  const { seq, ...rest } = fields;
  return frame(
    0,
    toBinary(EventSchema, fromJson(EventSchema, { ...(seq !== undefined && { seq }), [type]: rest })),
  );
}

export function trailers(
  status: number,
  error?: { reason: string; param?: string; retryMs?: number },
): Uint8Array<ArrayBuffer> {
  const details = error === undefined ? "" : `grpc-status-details-bin: ${statusDetails(error)}\r\n`;
  return frame(0x80, utf8.encode(`grpc-status: ${status}\r\ngrpc-message: told%20so\r\n${details}`));
}

export const ENCODERS: Readonly<Record<Protocol, (message: Message) => Uint8Array<ArrayBuffer>>> = {
  rest: ndjson,
  sse,
  websocket,
  grpcweb,
};

export function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

function frame(flags: number, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(5 + content.length);
  new DataView(bytes.buffer).setUint32(1, content.length);
  bytes[0] = flags;
  bytes.set(content, 5);
  return bytes;
}

/** google.rpc.Status, whose fields are 1: code, 2: message, 3: details (Any), in base64 without padding. */
function statusDetails({
  reason,
  param,
  retryMs,
}: {
  reason: string;
  param?: string;
  retryMs?: number;
}): string {
  const metadata: Record<string, string> = param === undefined ? {} : { param };
  const info = create(ErrorInfoSchema, { reason, domain: "polystream", metadata });
  const details = [toBinaryAny(anyPack(ErrorInfoSchema, info))];
  if (retryMs !== undefined) {
    const retryDelay = { seconds: BigInt(Math.floor(retryMs / 1000)), nanos: (retryMs % 1000) * 1_000_000 };
    details.push(toBinaryAny(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay }))));
  }
  const message = utf8.encode("told so");
  const head = joined([Uint8Array.of(0x08, 14, 0x12, message.length), message]);
  return Buffer.from(joined([head, ...details]))
    .toString("base64")
    .replace(/=+$/, "");
}

function toBinaryAny({ typeUrl, value }: { typeUrl: string; value: Uint8Array }): Uint8Array {
  const url = utf8.encode(typeUrl);
  const any = joined([Uint8Array.of(0x0a, url.length), url, Uint8Array.of(0x12, value.length), value]);
  return joined([Uint8Array.of(0x1a, any.length), any]);
}
