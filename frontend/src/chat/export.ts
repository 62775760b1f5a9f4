// A conversation as a file: Markdown to read, JSON to keep.

import type { Words } from "../i18n/language";
import type { Conversation, Turn } from "./conversation";

export function toMarkdown(conversation: Conversation, { exported }: Words): string {
  const { system } = conversation.settings;
  const parts = [
    `# ${conversation.title}`,
    ...(system.trim() ? [`## ${exported.system}`, system] : []),
    ...conversation.turns.flatMap((turn) => [
      `## ${exported.you}`,
      turn.ask,
      `## ${exported.answer(turn.answer.model ?? "")}`,
      answerText(turn, exported.incomplete),
    ]),
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

export function toJson(conversation: Conversation): string {
  return `${JSON.stringify({ format: "polystream.conversation", version: 1, ...conversation }, null, 2)}\n`;
}

/** A name that every file system takes; the title's own letters stay, of whatever script. */
export function fileName({ title }: Conversation, ending: "md" | "json"): string {
  const name = title
    .replace(/[\p{Cc}\p{Cf}/\\:*?"<>|]+/gu, " ")
    .replace(/\s+/g, " ")
    .replace(/^[. ]+|[. ]+$/g, "");
  return `${[...name].slice(0, 80).join("") || "conversation"}.${ending}`;
}

export function download(name: string, content: string, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type: `${type};charset=utf-8` }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function answerText({ answer }: Turn, incomplete: string): string {
  const whole = answer.state === "finished" && answer.reason !== "length";
  return [answer.text || answer.refusal, whole ? "" : `*(${incomplete})*`].filter(Boolean).join("\n\n");
}
