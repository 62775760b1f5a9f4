import { expect, test } from "vitest";
import { Blocks } from "./blocks";

const TEXT =
  "# Head\n\nA paragraph\nof two lines.\n\n- one\n\n- two\n\n```js\nlet a = 1;\n\nlet b;\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\nEnd.";

test("a text grown letter by letter has the blocks of the whole", () => {
  const grown = new Blocks();
  for (let end = 1; end <= TEXT.length; end += 1) grown.of(TEXT.slice(0, end));
  const whole = new Blocks().of(TEXT);
  expect(grown.of(TEXT)).toEqual(whole);
  expect(whole.map(({ source }) => source.trim().split("\n")[0])).toEqual([
    "# Head",
    "A paragraph",
    "- one",
    "```js",
    "| a | b |",
    "End.",
  ]);
});

test("each block says where it begins", () => {
  for (const { start, source } of new Blocks().of(TEXT))
    expect(TEXT.slice(start, start + source.length)).toBe(source);
});

test("what stands before the last block is never made anew", () => {
  const blocks = new Blocks();
  const before = blocks.of("One.\n\nTwo.\n\nThr");
  const after = blocks.of("One.\n\nTwo.\n\nThree.");
  expect(after[0]).toBe(before[0]);
  expect(after[1]).toBe(before[1]);
  expect(after[2]).not.toBe(before[2]);
});

test("another text begins anew", () => {
  const blocks = new Blocks();
  blocks.of("One.\n\nTwo.");
  expect(blocks.of("Other.").map(({ source }) => source)).toEqual(["Other."]);
});
