// What is sent with a turn: the whole conversation up to it, less the oldest turns that no longer fit.

import type { ChatMessage, StartRequest } from "../stream/event";
import type { Conversation, Turn } from "./conversation";

/** The request for `turn`; `omitted`: how many of the oldest turns are left out. */
export function requestFor(conversation: Conversation, turn: Turn, omitted: number): StartRequest {
  const { system, model, sampling, onDisconnect } = conversation.settings;
  return {
    ...(model ? { model } : {}),
    messages: [
      ...(system.trim() ? [{ role: "system", content: system } as const] : []),
      ...before(conversation, turn.id).slice(omitted).flatMap(messages),
      { role: "user", content: turn.ask },
    ],
    ...sampling,
    // Named even where it is the default: a start for an EventSource has another one.
    on_disconnect: onDisconnect,
  };
}

/** The turns before one that have an answer: a question without one would stand beside the next question. */
export function before(conversation: Conversation, turnId: string): readonly Turn[] {
  const index = conversation.turns.findIndex(({ id }) => id === turnId);
  return conversation.turns
    .slice(0, index < 0 ? undefined : index)
    .filter(({ answer }) => answer.text.trim());
}

/** How many turns to leave out at first: as many as for the answer before, since they did not fit then. */
export function omittedBefore(conversation: Conversation, turnId: string): number {
  const turns = before(conversation, turnId);
  return Math.min(turns.at(-1)?.answer.omitted ?? 0, turns.length);
}

function messages({ ask, answer }: Turn): ChatMessage[] {
  return [
    { role: "user", content: ask },
    { role: "assistant", content: answer.text },
  ];
}
