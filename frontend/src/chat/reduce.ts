// An answer and an event make the answer with the event in it.

import type { Event, Notice, ToolCall } from "../stream/event";
import type { Protocol } from "../stream/transport";
import type { Answer, Seam, ToolCallText } from "./conversation";

/** Breaks closer than this are told in one line. */
const ONE_SEAM_MS = 2000;

/** `at`: when it came, in milliseconds since 1970. */
export function withEvent(answer: Answer, event: Event, at: number): Answer {
  const next = { ...answer, position: event.seq };
  switch (event.type) {
    case "started":
      return { ...next, streamId: event.id, model: event.model, engine: event.engine };
    case "text":
      return { ...counted(next, event.tokens ?? 1, at), text: answer.text + event.text };
    case "reasoning":
      return { ...counted(next, 1, at), reasoning: answer.reasoning + event.text };
    case "refusal":
      return { ...counted(next, 1, at), refusal: answer.refusal + event.text };
    case "tool_call":
      return { ...counted(next, 1, at), toolCalls: withCall(answer.toolCalls, event) };
    case "notice":
      return noticed(next, event);
    case "finished":
      return {
        ...next,
        wait: null,
        state: event.reason === "cancelled" ? "stopped" : "finished",
        reason: event.reason,
        usage: event.usage ?? null,
      };
    case "failed":
      return { ...next, wait: null, state: "failed", failure: event.error, usage: event.usage ?? null };
    default:
      return next; // of a later version of the protocol
  }
}

/** The answer goes on over another connection, from where it stands. */
export function withSeam(answer: Answer, protocol: Protocol, cause: Seam["cause"], time: number): Answer {
  if (!answer.text && !answer.reasoning) return { ...answer, protocol };
  const seam: Seam = { at: answer.text.length, seq: answer.position, protocol, cause, time, count: 1 };
  const last = answer.seams.at(-1);
  if (!last || time - last.time > ONE_SEAM_MS) return { ...answer, seams: [...answer.seams, seam] };
  return { ...answer, seams: [...answer.seams.slice(0, -1), { ...seam, count: last.count + 1 }] };
}

function counted(answer: Answer, tokens: number, at: number): Answer {
  const firstAt = answer.firstAt ?? at;
  return { ...answer, wait: null, firstAt, lastAt: at, tokens: answer.tokens + tokens };
}

function noticed(answer: Answer, { kind, detail }: Notice): Answer {
  switch (kind) {
    case "restart":
      return { ...answer, text: "", reasoning: "", refusal: "", toolCalls: [], seams: [], restarted: true };
    case "queued":
      return { ...answer, wait: { kind, place: Number(detail.position) } };
    case "prefill":
      return {
        ...answer,
        wait: { kind: "reading", done: Number(detail.processed), total: Number(detail.total) },
      };
    case "filter":
      return { ...answer, filtered: true };
    default:
      return answer;
  }
}

function withCall(calls: readonly ToolCallText[], event: ToolCall): readonly ToolCallText[] {
  const known = calls[event.index] ?? { name: "", arguments: "" };
  const call = { name: event.name ?? known.name, arguments: known.arguments + event.arguments };
  return Object.assign([...calls], { [event.index]: call });
}

/** Tokens a second between the first and the last; null before there are two. */
export function rate({ firstAt, lastAt, tokens }: Answer): number | null {
  if (firstAt === null || lastAt === null || lastAt <= firstAt || tokens < 2) return null;
  const perSecond = ((tokens - 1) * 1000) / (lastAt - firstAt);
  return perSecond < 10 ? Math.round(perSecond * 10) / 10 : Math.round(perSecond);
}

export function firstMs({ askedAt, firstAt }: Answer): number | null {
  return firstAt === null ? null : Math.max(0, Math.round(firstAt - askedAt));
}
