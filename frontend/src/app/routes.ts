// The views and their addresses. Hashes, so that any file server can serve the page: #/chat, #/race, #/wire/{answer}.

import { useSyncExternalStore } from "react";

export const VIEWS = ["chat", "race", "wire"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  readonly view: View;
  /** What the view shows: a conversation's id in chat, an answer's in wire. */
  readonly id: string | null;
}

export function href(view: View, id?: string | null): string {
  return id ? `#/${view}/${encodeURIComponent(id)}` : `#/${view}`;
}

/** The route of a hash; what is no view is chat. */
export function parse(hash: string): Route {
  const [, name = "", id = ""] = hash.replace(/^#/, "").split("/");
  const view = VIEWS.find((known) => known === name) ?? "chat";
  return { view, id: id ? decoded(id) : null };
}

/** Goes to a view; `replace` leaves no step in the history. */
export function go(view: View, id?: string | null, replace = false): void {
  if (!replace) {
    location.hash = href(view, id);
    return;
  }
  history.replaceState(null, "", href(view, id));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute(): Route {
  return parse(useSyncExternalStore(subscribe, hash));
}

const hash = () => location.hash;

function subscribe(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}
