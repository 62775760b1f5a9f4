// gRPC's messages as the native JSON form has them, and a request the other way round. The names are the same; absent
// strings are empty in proto, and whole numbers of 64 bits are bigint.

import { fromJson } from "@bufbuild/protobuf";
import {
  StartRequestSchema,
  type Event as Wire,
  type Error as WireError,
  type StartRequest as WireRequest,
  type Usage as WireUsage,
} from "../gen/polystream/v1/streams_pb.js";
import type { Event, Failure, Message, Reason, StartRequest, Usage } from "./event.js";
import { unknown } from "./message.js";
import { Broken } from "./transport.js";

export function toRequest(request: StartRequest): WireRequest {
  // By way of JSON, which drops what is undefined; proto's JSON form knows the names as they stand in the .proto.
  return fromJson(StartRequestSchema, JSON.parse(JSON.stringify(request)));
}

/** null: a signal that we do not know. */
export function fromProto(wire: Wire): Message | null {
  const { event } = wire;
  switch (event.case) {
    case "heartbeat":
      return { type: "heartbeat" };
    case "comeBack":
      return { type: "come_back", retry_after_ms: event.value.retryAfterMs, reason: event.value.reason };
    case "lost":
      return { type: "lost", after: Number(event.value.after) };
  }
  if (wire.seq === undefined) {
    if (event.case !== undefined) throw new Broken(`no seq: ${event.case}`);
    return null;
  }
  return numbered(Number(wire.seq), event);
}

function numbered(seq: number, event: Wire["event"]): Event {
  switch (event.case) {
    case "started": {
      const { id, model, engine, created } = event.value;
      return { seq, type: "started", id, model, engine, created: Number(created) };
    }
    case "text": {
      const { text, logprobs, tokens } = event.value;
      const more = { ...(logprobs.length > 0 && { logprobs }), ...(tokens !== undefined && { tokens }) };
      return { seq, type: "text", text, ...more };
    }
    case "reasoning":
    case "refusal":
      return { seq, type: event.case, text: event.value.text };
    case "toolCall": {
      const { index, callId, name, arguments: args } = event.value;
      const named = { ...(callId !== undefined && { call_id: callId }), ...(name !== undefined && { name }) };
      return { seq, type: "tool_call", index, ...named, arguments: args };
    }
    case "notice":
      return { seq, type: "notice", kind: event.value.kind, detail: event.value.detail ?? {} };
    case "finished": {
      const { reason, usage, model, events, sha256 } = event.value;
      const more = { ...(usage && { usage: toUsage(usage) }), ...(model !== "" && { model }) };
      return { seq, type: "finished", reason: reason as Reason, ...more, events: Number(events), sha256 };
    }
    case "failed": {
      const { error, usage, events, sha256 } = event.value;
      const more = { ...(usage && { usage: toUsage(usage) }), events: Number(events), sha256 };
      return { seq, type: "failed", error: toFailure(error), ...more };
    }
    default:
      return unknown(seq, {});
  }
}

function toUsage(usage: WireUsage): Usage {
  const { inputTokens, outputTokens, cachedTokens, reasoningTokens, estimated } = usage;
  return {
    input_tokens: Number(inputTokens),
    output_tokens: Number(outputTokens),
    ...(cachedTokens !== undefined && { cached_tokens: Number(cachedTokens) }),
    ...(reasoningTokens !== undefined && { reasoning_tokens: Number(reasoningTokens) }),
    ...(estimated && { estimated }),
  };
}

function toFailure(error: WireError | undefined): Failure {
  const { code = "internal", message = "", param = "", retryable = false } = error ?? {};
  return { code, message, ...(param !== "" && { param }), retryable };
}
