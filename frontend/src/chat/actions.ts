// What the buttons and menus of Chat do.

import { newId } from "../app/ids";
import { preferences } from "../app/preferences";
import { go } from "../app/routes";
import { offerUndo } from "../app/undo";
import { words } from "../i18n/language";
import { type Conversation, type Turn, titleFrom } from "./conversation";
import { draftSettings } from "./drafts";
import { renamed } from "./edits";
import { download, fileName, toJson, toMarkdown } from "./export";
import { answers, store } from "./service";

/** Asks; without a conversation it begins one and goes there. */
export function send(conversation: Conversation | undefined, ask: string): void {
  const { protocol } = preferences();
  const id = conversation?.id ?? begin(ask);
  answers.send(id, ask, protocol);
  if (!conversation) go("chat", id, true);
}

/** Asks a turn anew; what came after it can be put back for a while. */
export function askAgain(conversation: Conversation, turn: Turn, ask = turn.ask): void {
  const index = conversation.turns.findIndex(({ id }) => id === turn.id);
  const later = conversation.turns.length - index - 1;
  answers.askAgain(conversation.id, turn.id, ask, preferences().protocol);
  if (later > 0) {
    offerUndo({ text: words().thread.laterRemoved(later), undo: () => restore(conversation) });
  }
}

export function rename(id: string, title: string): void {
  const trimmed = title.trim();
  if (trimmed) store.edit(id, renamed(trimmed));
}

/** Takes the conversation away; undone for eight seconds. An answer that runs is no longer followed. */
export function remove(conversation: Conversation, shown: boolean): void {
  for (const { answer } of conversation.turns) answers.leave(answer.id);
  const removed = store.remove(conversation.id) ?? conversation;
  if (shown) go("chat", null, true);
  offerUndo({ text: words().list.deleted(titleOf(conversation)), undo: () => bringBack(removed, shown) });
}

export function exportAs(conversation: Conversation, ending: "md" | "json"): void {
  const name = fileName({ ...conversation, title: titleOf(conversation) }, ending);
  if (ending === "md") download(name, toMarkdown(conversation, words()), "text/markdown");
  else download(name, toJson(conversation), "application/json");
}

export function titleOf(conversation: Conversation): string {
  return conversation.title || words().list.untitled;
}

function begin(ask: string): string {
  const now = Date.now();
  const id = newId();
  store.put({ id, title: titleFrom(ask), created: now, updated: now, settings: draftSettings(), turns: [] });
  return id;
}

function restore(conversation: Conversation): void {
  for (const { answer } of store.get(conversation.id)?.turns ?? []) answers.leave(answer.id);
  store.put(conversation);
}

function bringBack(conversation: Conversation, shown: boolean): void {
  store.put(conversation);
  if (shown) go("chat", conversation.id);
}
