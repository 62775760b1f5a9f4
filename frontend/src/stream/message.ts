// What the server says in JSON, as a message. Only what programs lean on is checked; all else may grow.

import type { Message, Notice } from "./event.js";
import { Broken } from "./transport.js";

const utf8 = new TextDecoder("utf-8", { fatal: true });

type Fields = Readonly<Record<string, unknown>>;
type Check = (fields: Fields) => boolean;

const hasText: Check = ({ text }) => typeof text === "string";
const hasProof: Check = ({ events, sha256 }) => isCount(events) && typeof sha256 === "string";

const EVENTS: Readonly<Record<string, Check>> = {
  started: ({ id }) => typeof id === "string",
  text: hasText,
  reasoning: hasText,
  refusal: hasText,
  tool_call: (fields) => isCount(fields.index) && typeof fields.arguments === "string",
  notice: ({ kind, detail }) => typeof kind === "string" && isObject(detail),
  finished: hasProof,
  failed: (fields) => hasProof(fields) && isObject(fields.error),
};

const SIGNALS: Readonly<Record<string, Check>> = {
  heartbeat: () => true,
  come_back: (fields) => isCount(fields.retry_after_ms),
  lost: () => true,
};

/** The object that UTF-8 bytes of JSON spell. Throws Broken for anything else. */
export function parse(json: Uint8Array | string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(typeof json === "string" ? json : utf8.decode(json));
  } catch {
    throw new Broken(`cannot be read: ${shown(json)}`);
  }
  if (!isObject(value)) throw new Broken(`is no object: ${shown(json)}`);
  return value;
}

/** The message that an object is; null for one to be ignored. Throws Broken where a known one lacks a field. */
export function toMessage(fields: Fields): Message | null {
  const { type, seq } = fields;
  const check = Object.hasOwn(SIGNALS, String(type)) ? SIGNALS[String(type)] : undefined;
  if (check !== undefined) return checked(fields, check);
  if (seq === undefined) return null;
  if (!isCount(seq)) throw new Broken(`no seq: ${JSON.stringify(seq)}`);
  if (Object.hasOwn(EVENTS, String(type))) return checked(fields, EVENTS[String(type)] as Check);
  return unknown(seq, fields);
}

/** An event that we do not know. It counts, so that its number is no hole and the log's length is right. */
export function unknown(seq: number, detail: Fields): Notice {
  return { seq, type: "notice", kind: "unknown", detail };
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function checked(fields: Fields, check: Check): Message {
  if (!check(fields)) throw new Broken(`not as the protocol has it: ${JSON.stringify(fields).slice(0, 100)}`);
  return fields as unknown as Message;
}

function shown(json: Uint8Array | string): string {
  return typeof json === "string" ? json.slice(0, 100) : new TextDecoder().decode(json.subarray(0, 100));
}
