// Whole sentences of a text that still grows, without Markdown's marks: what is worth hearing.

const END = /[.!?…](?=\s)|[。！？]|\n+/gu;

/** What has become whole since `from`, and where that ends. */
export function sentencesFrom(text: string, from: number): { readonly text: string; readonly end: number } {
  let end = from;
  for (const found of text.slice(from).matchAll(END)) end = from + found.index + found[0].length;
  return { text: spoken(text.slice(from, end)), end };
}

function spoken(markdown: string): string {
  return markdown
    .replace(/^```.*$/gm, "")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^[ \t]*(?:#{1,6}|[-*+>])[ \t]+/gm, "")
    .replace(/[*_`|]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
}
