// Calls by fetch, and answers piece by piece: what REST and server-sent events share, with cancel and EventSource.

import type { Cutter } from "./cutter.js";
import { endsCall, type Message } from "./event.js";
import { isObject } from "./message.js";
import { Broken, type Options, type Protocol, Refused } from "./transport.js";

export interface Call {
  readonly method: "GET" | "POST" | "DELETE";
  /** Behind the base. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** How a protocol's answer is cut and read. */
export interface Form {
  readonly type: string;
  readonly cutter: Cutter;
  /** The message that a piece spells; null: none. */
  read(piece: Uint8Array): Message | null;
}

export const STREAMS = "/v1/streams";
const NOTHING = new Uint8Array();
const utf8 = new TextEncoder();
/** A wait longer than a log is kept makes no sense. */
const RETRY_AFTER_MAX_MS = 3_600_000;

export function startCall(
  request: object,
  options: Options,
  headers: Readonly<Record<string, string>>,
): Call {
  const key = options.idempotencyKey === undefined ? {} : { "Idempotency-Key": options.idempotencyKey };
  const body = JSON.stringify(request);
  return {
    method: "POST",
    path: STREAMS,
    headers: { "Content-Type": "application/json", ...headers, ...key },
    body,
  };
}

export function followCall(
  id: string,
  after: number | null,
  headers: Readonly<Record<string, string>>,
): Call {
  return { method: "GET", path: followPath(id, after), headers };
}

export function followPath(id: string, after: number | null): string {
  return `${streamPath(id)}${after === null ? "" : `?after=${after}`}`;
}

export function streamPath(id: string): string {
  return `${STREAMS}/${encodeURIComponent(id)}`;
}

/** Where a path is; a base may end with a slash. */
export function at(base: string, path: string): string {
  return base.replace(/\/$/, "") + path;
}

/** The messages of an answer; `mayBeEmpty`: of a follow, which may be at the end already. */
export async function* messages(
  protocol: Protocol,
  call: Call,
  form: Form,
  options: Options,
  mayBeEmpty: boolean,
): AsyncGenerator<Message> {
  const response = await open(protocol, call, options);
  if (response.status === 204 && mayBeEmpty) return;
  const type = response.headers.get("content-type");
  // An empty answer has no type; one of another's is the page of some gateway or network on the way.
  if (type !== null && !type.startsWith(form.type)) {
    void response.body?.cancel().catch(() => {});
    throw new Broken(`${call.path} answered ${response.status} with ${type}`);
  }
  let some = false;
  for await (const chunk of chunks(response)) {
    for (const bytes of form.cutter.push(chunk)) {
      const message = form.read(bytes);
      options.onFrame?.({
        at: performance.now(),
        protocol,
        direction: "in",
        bytes,
        ...(message && { message }),
      });
      if (message === null) continue;
      some = true;
      yield message;
      if (endsCall(message)) return;
    }
  }
  if (form.cutter.held > 0) throw new Broken("the answer ended in the middle of an event");
  if (some || !mayBeEmpty) throw new Broken("the answer ended before its last event");
}

/** The response to a call, of status 2xx. Throws Refused with the server's error, or Broken. */
export async function open(protocol: Protocol, call: Call, options: Options): Promise<Response> {
  const { method, path, headers = {}, body } = call;
  const tell = (direction: "in" | "out", head: string, bytes: Uint8Array) =>
    options.onFrame?.({ at: performance.now(), protocol, direction, head, bytes });
  tell("out", `${method} ${path}`, body === undefined ? NOTHING : utf8.encode(body));
  const response = await reach(at(options.base, path), {
    method,
    headers,
    signal: options.signal,
    cache: "no-store",
    ...(body !== undefined && { body }),
  });
  const head = `${response.status} ${response.headers.get("content-type") ?? ""}`.trimEnd();
  if (response.ok) {
    tell("in", head, NOTHING);
    return response;
  }
  const text = await response.text().catch(() => "");
  tell("in", head, utf8.encode(text));
  throw refusal(response, text);
}

/** fetch, whose failures are Broken; an abort stays what it is. */
export async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    init.signal?.throwIfAborted();
    throw new Broken(`cannot be reached: ${says(error)}`);
  }
}

/** What an error's status and body say. Proxies and gateways may answer without our body. */
export function refusal(response: Response, body: string): Refused {
  const { status } = response;
  const wait = retryAfterMs(response.headers.get("retry-after"));
  const error = errorIn(body);
  if (error === null) {
    const passes = [408, 425, 429, 500, 502, 503, 504].includes(status);
    return new Refused(codeOf(status), `HTTP ${status}`, passes, wait);
  }
  const { code, message, retryable, param } = error;
  return new Refused(
    typeof code === "string" ? code : codeOf(status),
    typeof message === "string" ? message : `HTTP ${status}`,
    retryable === true,
    wait,
    typeof param === "string" ? param : undefined,
  );
}

/** Retry-After in milliseconds from now: a number of seconds, or a date (RFC 9110, 10.2.3). */
export function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS);
}

async function* chunks(response: Response): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    throw new Broken(`the connection broke: ${says(error)}`);
  } finally {
    // To leave early is to close the connection; nobody waits for that.
    void reader.cancel().catch(() => {});
  }
}

function errorIn(body: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) && isObject(value.error) ? value.error : null;
  } catch {
    return null;
  }
}

function codeOf(status: number): string {
  const known: Readonly<Record<number, string>> = {
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    410: "position_lost",
    413: "too_large",
    429: "rate_limited",
    503: "overloaded",
    504: "upstream_timeout",
  };
  return known[status] ?? (status >= 500 ? "upstream_error" : "invalid_request");
}

function says(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
