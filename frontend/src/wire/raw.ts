// A frame's bytes as text in one line: line ends and other control characters as signs, to be drawn dim.

/** More than fits into the widest row. */
const SHOWN_BYTES = 400;
const CONTROL = /[\p{Cc}\u2028\u2029\ufffd]+/gu;
const decoder = new TextDecoder();

export interface Piece {
  readonly text: string;
  readonly control: boolean;
}

export function piecesOf(bytes: Uint8Array): Piece[] {
  const text = decoder.decode(bytes.subarray(0, SHOWN_BYTES));
  const pieces: Piece[] = [];
  let done = 0;
  for (const found of text.matchAll(CONTROL)) {
    if (found.index > done) pieces.push({ text: text.slice(done, found.index), control: false });
    pieces.push({ text: [...found[0]].map(signFor).join(""), control: true });
    done = found.index + found[0].length;
  }
  if (done < text.length) pieces.push({ text: text.slice(done), control: false });
  return pieces;
}

function signFor(character: string): string {
  return character === "\n" ? "↵" : "·";
}
