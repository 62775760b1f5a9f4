import { expect, test } from "vitest";
import { en } from "../i18n/en";
import { conversation, turn } from "../testing/conversations";
import { NO_SETTINGS } from "./conversation";
import { fileName, toJson, toMarkdown } from "./export";

const talk = conversation({
  title: "nginx: why?",
  settings: { ...NO_SETTINGS, system: "Be brief." },
  turns: [
    turn("1", "Why?", { text: "Because\n\n- of this", model: "smollm2", reason: "stop" }),
    turn("2", "And?", { text: "Hal", state: "failed" }),
  ],
});

test("Markdown holds what was said, by whom, and what is incomplete", () => {
  expect(toMarkdown(talk, en)).toBe(
    "# nginx: why?\n\n## System prompt\n\nBe brief.\n\n## You\n\nWhy?\n\n## Answer (smollm2)\n\n" +
      "Because\n\n- of this\n\n## You\n\nAnd?\n\n## Answer\n\nHal\n\n*(incomplete)*\n",
  );
});

test("JSON holds everything and says what it is", () => {
  expect(JSON.parse(toJson(talk))).toEqual({ format: "polystream.conversation", version: 1, ...talk });
});

test.each([
  ["nginx: why?", "nginx why.md"],
  ["../../etc/passwd", "etc passwd.md"],
  ["俳句を三つ", "俳句を三つ.md"],
  ["\u202Egnp.exe\n", "gnp.exe.md"],
  ["???", "conversation.md"],
  ["x".repeat(300), `${"x".repeat(80)}.md`],
])("the file of %j is %j", (title, name) => {
  expect(fileName(conversation({ title }), "md")).toBe(name);
});
