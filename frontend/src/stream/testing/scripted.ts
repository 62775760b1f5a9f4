// A transport without a network, for tests of what a run does with what it is told.

import type { Message } from "../event.js";
import type { Run, RunOptions } from "../run.js";
import type { Options, Protocol, Transport } from "../transport.js";
import { PROTOCOLS } from "../transport.js";

export interface Asked {
  readonly protocol: Protocol;
  readonly id: string | null;
  readonly after: number | null;
  readonly key: string | undefined;
  readonly signal: AbortSignal;
}

/** One connection's part: messages, then an error, an end, or silence until it is cut. */
export type Part = readonly (Message | Error | "silence")[];

export class Script {
  readonly asked: Asked[] = [];
  private readonly parts: Part[];

  constructor(...parts: Part[]) {
    this.parts = parts;
  }

  /** Behind the last part every connection is silent. */
  get options(): RunOptions {
    const transports = Object.fromEntries(PROTOCOLS.map((protocol) => [protocol, this.transport(protocol)]));
    return { protocol: "rest", transports };
  }

  private transport(protocol: Protocol): Transport {
    return {
      protocol,
      start: (_, options) => this.play({ protocol, id: null, after: null }, options),
      follow: (id, after, options) => this.play({ protocol, id, after }, options),
    };
  }

  private async *play(
    call: Pick<Asked, "protocol" | "id" | "after">,
    options: Options,
  ): AsyncGenerator<Message> {
    this.asked.push({ ...call, key: options.idempotencyKey, signal: options.signal });
    for (const step of this.parts.shift() ?? (["silence"] as const)) {
      options.signal.throwIfAborted();
      if (step === "silence") await aborted(options.signal);
      else if (step instanceof Error) throw step;
      else yield step;
    }
  }
}

/** Reads a run to its end in the background. */
export function readAll(run: Run): { readonly events: Message[]; readonly done: Promise<void> } {
  const events: Message[] = [];
  const read = async () => {
    for await (const event of run) events.push(event);
  };
  return { events, done: read() };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
