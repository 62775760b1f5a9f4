// @vitest-environment node
import { expect, test } from "vitest";
import { Blocks, type Cutter, Frames, Lines } from "./cutter.js";
import { cuts } from "./testing/fetch.js";

const utf8 = new TextEncoder();
const text = new TextDecoder("utf-8", { ignoreBOM: true });

function cut(cutter: Cutter, chunks: readonly Uint8Array[]): string[] {
  return chunks.flatMap((chunk) => cutter.push(chunk)).map((piece) => text.decode(piece));
}

const LINES = ["ü\n", "\n", "a\u2028b\u0085\r\n", "👩‍👧\n"];

test("lines are whole however the bytes are cut", () => {
  for (const chunks of cuts(utf8.encode(`${LINES.join("")}tail`))) {
    const lines = new Lines();
    expect(cut(lines, chunks)).toEqual(LINES);
    expect(lines.held).toBe(4);
  }
});

test("blocks end at an empty line, whatever ends lines", () => {
  for (const eol of ["\n", "\r\n", "\r"]) {
    const blocks = ["data: ü\u2028", ": heartbeat", `id: 1${eol}data: 👩‍👧`].map(
      (block) => block + eol + eol,
    );
    const whole = blocks.join("");
    for (const chunks of cuts(utf8.encode(`${whole}data: half${eol}`))) {
      const cutter = new Blocks();
      const found = cut(cutter, chunks);
      expect(found.join("")).toBe(eol === "\r\n" ? whole.slice(0, -1) : whole);
      expect(found.map((block) => block.trim())).toEqual(blocks.map((block) => block.trim()));
      expect(cutter.held).toBeGreaterThan(0);
    }
  }
});

test("a block that ends with CR does not wait for the next byte, and an LF behind it is nothing", () => {
  const blocks = new Blocks();
  expect(cut(blocks, [utf8.encode("data: a\r\n\r")])).toEqual(["data: a\r\n\r"]);
  expect(blocks.push(utf8.encode("\n"))).toEqual([]);
  expect(blocks.held).toBe(0);
  expect(cut(blocks, [utf8.encode("data: b\n\n")])).toEqual(["\ndata: b\n\n"]);
});

test("frames are whole however the bytes are cut", () => {
  const frames = [
    [0, 0, 0, 0, 0],
    [0, 0, 0, 0, 3, 9, 9, 9],
    [128, 0, 0, 1, 4, ...Array(260).fill(7)],
  ];
  for (const chunks of cuts(Uint8Array.from([...frames.flat(), 0, 0]))) {
    const cutter = new Frames();
    expect(chunks.flatMap((chunk) => cutter.push(chunk)).map((frame) => [...frame])).toEqual(frames);
    expect(cutter.held).toBe(2);
  }
});

test("what a cutter keeps is its own: the chunk may be used again", () => {
  const lines = new Lines();
  const chunk = utf8.encode("ab");
  lines.push(chunk);
  chunk.fill(0);
  expect(cut(lines, [utf8.encode("\n")])).toEqual(["ab\n"]);
});
