// A fetch that answers what a test wants, cut as the test wants.

import { vi } from "vitest";
import type { Message } from "../event.js";

/** What was asked, in order. */
export interface Asked {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | Uint8Array | null;
}

export function answerWith(...answers: (() => Response | Promise<Response>)[]): Asked[] {
  const asked: Asked[] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const body = (init.body ?? null) as string | Uint8Array | null;
    asked.push({ url, method: init.method ?? "GET", headers: new Headers(init.headers), body });
    init.signal?.throwIfAborted();
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    if (answer === undefined) throw new TypeError("no answer");
    return await answer();
  });
  return asked;
}

/** A response of these chunks, which then ends or breaks. */
export function streamed(type: string, chunks: readonly Uint8Array[], breaks = false): () => Response {
  return () => {
    const rest = [...chunks];
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull(controller) {
        const chunk = rest.shift();
        if (chunk !== undefined) controller.enqueue(chunk.slice());
        else if (breaks) controller.error(new TypeError("terminated"));
        else controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": type } });
  };
}

/** Every way to cut bytes in two, and one that cuts them everywhere. */
export function cuts(bytes: Uint8Array): Uint8Array[][] {
  const everywhere = Array.from(bytes, (byte) => Uint8Array.of(byte));
  return [everywhere, ...everywhere.map((_, at) => [bytes.subarray(0, at), bytes.subarray(at)])];
}

export async function all(messages: AsyncIterable<Message>): Promise<Message[]> {
  const found: Message[] = [];
  for await (const message of messages) found.push(message);
  return found;
}

/** What came before the error, and the error. */
export async function untilError(messages: AsyncIterable<Message>): Promise<[Message[], unknown]> {
  const found: Message[] = [];
  try {
    for await (const message of messages) found.push(message);
  } catch (error) {
    return [found, error];
  }
  throw new Error(`no error behind ${JSON.stringify(found)}`);
}
