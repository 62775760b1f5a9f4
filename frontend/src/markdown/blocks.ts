// A growing Markdown text as blocks, so that only the last one has to be parsed again: what stands before it can no
// longer change.

import { Lexer } from "marked";

export interface Block {
  /** Where it begins in the text; its key, too. */
  readonly start: number;
  readonly source: string;
}

export class Blocks {
  #text = "";
  #settled: Block[] = [];
  /** Where the part begins that is still to be cut. */
  #tail = 0;
  #list: readonly Block[] = [];

  /** The blocks of `text`; those that a shorter text had already are the same objects. */
  readonly of = (text: string): readonly Block[] => {
    if (text === this.#text) return this.#list;
    if (!text.startsWith(this.#text)) {
      this.#settled = [];
      this.#tail = 0;
    }
    this.#text = text;
    const open = cut(text, this.#tail);
    const last = open.pop();
    this.#settled.push(...open);
    this.#tail = last?.start ?? text.length;
    this.#list = last ? [...this.#settled, last] : [...this.#settled];
    return this.#list;
  };
}

/** Blank lines belong to the block before them: more text may make that block longer. */
function cut(text: string, from: number): Block[] {
  const blocks: Block[] = [];
  let start = from;
  for (const token of new Lexer({ gfm: true }).blockTokens(text.slice(from), [])) {
    const source = text.slice(start, start + token.raw.length);
    const before = blocks.at(-1);
    if (token.type === "space" && before) {
      blocks[blocks.length - 1] = { start: before.start, source: before.source + source };
    } else {
      blocks.push({ start, source });
    }
    start += token.raw.length;
  }
  return blocks.filter(({ source }) => source.trim());
}
