// The events of a generation's log as the native dialect spells them in JSON (docs/protocol.md). Unknown events and
// fields may come and must be ignored.

export type Reason = "stop" | "length" | "tool_calls" | "content_filter" | "cancelled" | "budget";

export interface Usage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_tokens?: number;
  readonly reasoning_tokens?: number;
  readonly estimated?: boolean;
}

/** A failure, with a code for programs and a text for people. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly param?: string;
}

interface Numbered {
  readonly seq: number;
}

export interface Started extends Numbered {
  readonly type: "started";
  readonly id: string;
  readonly model: string;
  readonly engine: string;
  /** Seconds since 1970. */
  readonly created: number;
}

export interface Text extends Numbered {
  readonly type: "text";
  readonly text: string;
  /** As OpenAI's logprobs.content. */
  readonly logprobs?: readonly Readonly<Record<string, unknown>>[];
  readonly tokens?: number;
}

export interface Reasoning extends Numbered {
  readonly type: "reasoning" | "refusal";
  readonly text: string;
}

export interface ToolCall extends Numbered {
  readonly type: "tool_call";
  readonly index: number;
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments: string;
}

/** An event of a type we do not know comes as a notice of kind `unknown`: it takes a place in the log all the same. */
export interface Notice extends Numbered {
  readonly type: "notice";
  readonly kind: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** `events`: how many the log holds, this one included; `sha256`: hex digest of all text, after the last restart. */
export interface Finished extends Numbered {
  readonly type: "finished";
  readonly reason: Reason;
  readonly usage?: Usage;
  readonly model?: string;
  readonly events: number;
  readonly sha256: string;
}

export interface Failed extends Numbered {
  readonly type: "failed";
  readonly error: Failure;
  readonly usage?: Usage;
  readonly events: number;
  readonly sha256: string;
}

export type Last = Finished | Failed;
export type Event = Started | Text | Reasoning | ToolCall | Notice | Last;

/** What is no event of the log and carries no seq. */
export type Signal =
  | { readonly type: "heartbeat" }
  | { readonly type: "come_back"; readonly retry_after_ms: number; readonly reason: string }
  | { readonly type: "lost"; readonly after?: number };

export type Message = Event | Signal;

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** The body of a start; absent fields are the engine's to decide. */
export interface StartRequest {
  readonly model?: string;
  readonly messages: readonly ChatMessage[];
  readonly max_tokens?: number;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly top_k?: number;
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly repetition_penalty?: number;
  readonly on_disconnect?: "cancel" | "grace" | "continue";
  readonly metadata?: Readonly<Record<string, string>>;
}

export function isLast(event: Message): event is Last {
  return event.type === "finished" || event.type === "failed";
}

/** Whether a reader hears nothing more on this connection. */
export function endsCall(message: Message): boolean {
  return isLast(message) || message.type === "come_back" || message.type === "lost";
}
