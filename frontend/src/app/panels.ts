// Which drawer is open: the list of conversations (narrow windows) or the settings. One at a time.

import { useSyncExternalStore } from "react";

export type PanelName = "list" | "settings";

let open: PanelName | null = null;
const listeners = new Set<() => void>();

export function openPanel(name: PanelName | null): void {
  open = name;
  for (const listener of listeners) listener();
}

export function togglePanel(name: PanelName): void {
  openPanel(open === name ? null : name);
}

export function useOpenPanel(): PanelName | null {
  return useSyncExternalStore(subscribe, () => open);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
