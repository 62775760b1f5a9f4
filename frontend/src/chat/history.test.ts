import { expect, test } from "vitest";
import { conversation, turn } from "../testing/conversations";
import { NO_SETTINGS } from "./conversation";
import { omittedBefore, requestFor } from "./history";

const told = [turn("1", "one?", { text: "one." }), turn("2", "two?", { text: "two." }), turn("3", "three?")];
const talk = conversation({ turns: told, settings: { ...NO_SETTINGS, system: "Be brief." } });
const asked = told[2] ?? turn("3", "");

const contents = (request: ReturnType<typeof requestFor>) => request.messages.map(({ content }) => content);

test("the whole conversation travels with each turn, the system prompt first", () => {
  expect(contents(requestFor(talk, asked, 0))).toEqual([
    "Be brief.",
    "one?",
    "one.",
    "two?",
    "two.",
    "three?",
  ]);
});

test("the oldest turns are left out as pairs, the system prompt never", () => {
  expect(contents(requestFor(talk, asked, 1))).toEqual(["Be brief.", "two?", "two.", "three?"]);
  expect(contents(requestFor(talk, asked, 2))).toEqual(["Be brief.", "three?"]);
});

test("a question that got no answer is not sent again beside the next one", () => {
  const broken = conversation({ turns: [turn("1", "one?", { state: "failed" }), asked] });
  expect(contents(requestFor(broken, asked, 0))).toEqual(["three?"]);
});

test("what did not fit for the answer before is left out from the start", () => {
  const long = conversation({
    turns: [...told.slice(0, 1), turn("2", "two?", { text: "two.", omitted: 1 }), asked],
  });
  expect(omittedBefore(long, "3")).toBe(1);
  expect(omittedBefore(talk, "3")).toBe(0);
  expect(omittedBefore(long, "a new one")).toBe(1);
});

test("only what was set is sent", () => {
  const plain = requestFor(conversation({ turns: [asked] }), asked, 0);
  expect(plain).toEqual({ messages: [{ role: "user", content: "three?" }], on_disconnect: "grace" });
  const settings = { ...NO_SETTINGS, model: "m", sampling: { temperature: 0.7, seed: 1 } };
  const set = requestFor(conversation({ turns: [asked], settings }), asked, 0);
  expect(set).toMatchObject({ model: "m", temperature: 0.7, seed: 1 });
});
