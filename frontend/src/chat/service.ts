// The one store and the one set of running answers of this page, and how components see them.

import { useCallback, useSyncExternalStore } from "react";
import { recordings } from "../app/recordings";
import { Answers } from "./answers";
import type { Answer, AnswerState, Conversation } from "./conversation";
import type { Live } from "./following";
import { ConversationStore, type StoreState } from "./store";
import { streams } from "./streams";

export const store = new ConversationStore();
export const answers = new Answers(store, recordings, streams);

void store.ready().then(resumeAll);
store.subscribe(resumeAll);
addEventListener("pagehide", () => answers.flush());

/** Also what another tab has just started: each tab follows by itself. */
function resumeAll(): void {
  const { loaded, conversations } = store.state();
  if (loaded) for (const conversation of conversations) answers.resume(conversation);
}

export function useStore(): StoreState {
  return useSyncExternalStore(store.subscribe, store.state);
}

export function useConversation(id: string | null): Conversation | undefined {
  const read = useCallback(() => (id ? store.get(id) : undefined), [id]);
  return useSyncExternalStore(store.subscribe, read);
}

/** How an answer stands, from the run while it runs, else as it was stored. */
export function useLive(answer: Answer): Live {
  const read = useCallback(() => answers.live(answer.id), [answer.id]);
  const live = useSyncExternalStore(answers.subscribe, read);
  return (
    live ?? { answer, phase: answer.state === "failed" ? "failed" : "finished", retryAt: null, trouble: null }
  );
}

/** The state alone, for those who need not be drawn each frame. */
export function useAnswerState<A extends Answer | undefined>(answer: A): AnswerState | (A & undefined) {
  const id = answer?.id;
  const read = useCallback(() => (id ? answers.live(id)?.answer.state : undefined), [id]);
  const state = useSyncExternalStore(answers.subscribe, read);
  return (state ?? answer?.state) as AnswerState | (A & undefined);
}
