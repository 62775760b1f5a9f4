// The settings that are in force: the conversation's own, or those of the one to come. A change counts for both, so
// that the next conversation begins as this one is.

import type { Conversation, Settings } from "./conversation";
import { setDraftSettings, useDraftSettings } from "./drafts";
import { withSettings } from "./edits";
import { store } from "./service";

export function useSettings(conversation: Conversation | undefined): Settings {
  const draft = useDraftSettings();
  return conversation?.settings ?? draft;
}

export function changeSettings(conversationId: string | undefined, change: Partial<Settings>): void {
  setDraftSettings(change);
  if (conversationId) store.edit(conversationId, withSettings(change));
}
