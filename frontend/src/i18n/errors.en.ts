// Failures in words: what happened, and what to do. Codes are those of docs/protocol.md.

export interface ErrorWords {
  readonly title: string;
  readonly todo: string;
}

const engineDown = {
  title: "The engine is not running.",
  todo: "Start it, or pick another model.",
};
const stopped = { title: "The engine stopped answering.", todo: "Try again, or pick another model." };

export const errorsEn: Record<string, ErrorWords> = {
  upstream_unavailable: engineDown,
  model_not_found: { title: "The engine does not have this model.", todo: "Pick another model." },
  overloaded: { title: "Too busy.", todo: "Try again in a moment." },
  rate_limited: { title: "Too many requests.", todo: "Wait a moment, then try again." },
  quota_exceeded: {
    title: "The engine's quota is used up.",
    todo: "Raise it at the provider, or pick another model.",
  },
  draining: { title: "The server is restarting.", todo: "Try again in a moment." },
  upstream_error: { title: "The engine refused the request.", todo: "Try again, or pick another model." },
  upstream_timeout: {
    title: "The engine took too long to begin.",
    todo: "Try again, or pick another model.",
  },
  upstream_disconnected: {
    title: "The engine broke the connection.",
    todo: "Try again, or pick another model.",
  },
  upstream_incomplete: {
    title: "The engine ended before the answer did.",
    todo: "Try again, or pick another model.",
  },
  upstream_stalled: stopped,
  upstream_bad_chunk: {
    title: "The engine said something unreadable.",
    todo: "Try again, or pick another model.",
  },
  store_unavailable: { title: "The store of the answers does not respond.", todo: "Try again in a moment." },
  context_length_exceeded: { title: "This message is too long for the model.", todo: "Shorten it." },
  too_large: {
    title: "This is larger than the server takes.",
    todo: "Shorten the message, or start a new conversation.",
  },
  content_filter: {
    title: "The engine's content filter refused this message.",
    todo: "Word it differently.",
  },
  invalid_request: {
    title: "The server does not accept this request.",
    todo: "Look at the settings, then send it again.",
  },
  not_found: {
    title: "The rest of this answer can no longer be fetched.",
    todo: "Ask again, or keep what is here.",
  },
  position_lost: {
    title: "The rest of this answer can no longer be fetched.",
    todo: "Ask again, or keep what is here.",
  },
  conflict: { title: "This message was already sent with other settings.", todo: "Send it again." },
  unauthenticated: { title: "The server does not know who you are.", todo: "Sign in, then send it again." },
  forbidden: { title: "You may not do this here.", todo: "Ask whoever runs the server." },
  internal: { title: "Something broke in the server.", todo: "Try again; if it stays, its log says why." },
  unreachable: { title: "The server cannot be reached.", todo: "Look at your network, then try again." },
  disconnected: { title: "The connection was lost.", todo: "Try again." },
  unknown: { title: "The answer failed.", todo: "Try again, or pick another model." },
};
