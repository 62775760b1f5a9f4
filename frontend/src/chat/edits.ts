// What can happen to a conversation, each a function from the old to the new, so that the same change can be made to
// what this tab shows and to what is stored, which another tab may have changed since.

import { type Answer, type Conversation, isOpen, type Turn } from "./conversation";

export type Edit = (conversation: Conversation) => Conversation;

export function renamed(title: string): Edit {
  return (conversation) => ({ ...conversation, title });
}

export function withSettings(change: Partial<Conversation["settings"]>): Edit {
  return (conversation) => ({ ...conversation, settings: { ...conversation.settings, ...change } });
}

/** A new turn at the end. */
export function withTurn(turn: Turn): Edit {
  return (conversation) => ({ ...conversation, updated: turn.at, turns: [...conversation.turns, turn] });
}

/** The turn of that id asked anew: what came after it is gone. */
export function askedAgain(turn: Turn): Edit {
  return (conversation) => {
    const index = conversation.turns.findIndex(({ id }) => id === turn.id);
    if (index < 0) return conversation;
    return { ...conversation, updated: turn.at, turns: [...conversation.turns.slice(0, index), turn] };
  };
}

/** What has come of an answer; never back to less, and never over the answer that took its place. */
export function withAnswer(answer: Answer): Edit {
  return (conversation) => {
    const turn = conversation.turns.find((one) => one.answer.id === answer.id);
    if (!turn || isOlder(answer, turn.answer)) return conversation;
    const turns = conversation.turns.map((one) => (one === turn ? { ...one, answer } : one));
    return { ...conversation, turns };
  };
}

function isOlder(answer: Answer, stored: Answer): boolean {
  if (answer === stored) return true;
  if (stored.omitted !== answer.omitted) return stored.omitted > answer.omitted;
  if (!isOpen(stored)) return isOpen(answer);
  return isOpen(answer) && stored.position > answer.position;
}
