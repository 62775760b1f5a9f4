import { expect, test } from "vitest";
import { Blocks } from "../markdown/blocks";
import type { Seam } from "./conversation";
import { partsOf } from "./parts";

const TEXT = "One one one.\n\nTwo two two.\n\nThree.";
const blocks = new Blocks().of(TEXT);
const seam = (at: number, protocol: Seam["protocol"]): Seam => ({
  at,
  seq: at,
  protocol,
  cause: "dropped",
  time: at,
  count: 1,
});

const drawn = (seams: readonly Seam[]) =>
  partsOf(blocks, seams, "sse").map((part) => [
    part.protocol,
    part.blocks.map(({ source }) => source.trim()),
  ]);

test("a seam in the middle of a block is told behind it", () => {
  expect(drawn([seam(4, "websocket")])).toEqual([
    ["sse", ["One one one."]],
    ["websocket", ["Two two two.", "Three."]],
  ]);
});

test("a seam between two blocks is told there", () => {
  expect(drawn([seam(TEXT.indexOf("Two"), "rest")])[0]).toEqual(["sse", ["One one one."]]);
});

test("a seam in the last block is told below it, before there is more", () => {
  expect(drawn([seam(TEXT.length, "rest")])).toEqual([
    ["sse", ["One one one.", "Two two two.", "Three."]],
    ["rest", []],
  ]);
});

test("two seams in one block stand one below the other", () => {
  expect(drawn([seam(3, "rest"), seam(6, "websocket")]).map(([protocol]) => protocol)).toEqual([
    "sse",
    "rest",
    "websocket",
  ]);
});
