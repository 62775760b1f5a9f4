// Conversations to test with.

import { type Answer, type Conversation, NO_SETTINGS, newAnswer, type Turn } from "../chat/conversation";

export function conversation(change: Partial<Conversation> = {}): Conversation {
  return { id: "c1", title: "A title", created: 1, updated: 1, settings: NO_SETTINGS, turns: [], ...change };
}

export function turn(id: string, ask: string, answer: Partial<Answer> = {}): Turn {
  return { id, at: 1, ask, answer: { ...newAnswer(`a-${id}`, "sse", 0, 1), state: "finished", ...answer } };
}
