// One integer is a complete position. This is the rule by which a reader moves it (docs/protocol.md, Positions).

import type { Event } from "./event.js";

/** What an event is to a reader that has everything up to `position`. */
export function place(event: Event, position: number): "next" | "seen" | "hole" {
  if (event.seq <= position) return "seen";
  if (event.seq === position + 1) return "next";
  const takesOver = event.type === "notice" && event.kind === "takeover" && event.detail.from === position;
  return takesOver ? "next" : "hole";
}
