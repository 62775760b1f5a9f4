// Cancels a generation at the server, from anywhere; whoever follows it gets its last event.

import { at, reach, refusal, streamPath } from "./http.js";

/** Throws Refused or Broken. It may be repeated, and does nothing after the end. */
export async function cancelStream(base: string, id: string): Promise<void> {
  // Keepalive: a page that is being closed can still say it.
  const response = await reach(at(base, streamPath(id)), { method: "DELETE", keepalive: true });
  const text = await response.text().catch(() => "");
  if (!response.ok) throw refusal(response, text);
}
