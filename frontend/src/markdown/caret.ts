// The caret stands after the last character that has come, wherever that is: in a list, a table, a code box.

import type { Element, ElementContent, Root } from "hast";

/** Elements into which the caret does not go. */
const CLOSED = new Set(["hr", "br", "input", "img"]);

/** A rehype plugin: puts `<span class="caret">` in the protocol's hue behind the last text. */
export function withCaret(protocol: string) {
  return (root: Root): void => {
    const caret: Element = {
      type: "element",
      tagName: "span",
      properties: { className: ["caret"], dataP: protocol },
      children: [],
    };
    deepestLast(root).children.push(caret);
  };
}

function deepestLast(parent: Root | Element): Root | Element {
  const last = parent.children.findLast((child) => !isBlank(child as ElementContent));
  if (last?.type !== "element" || CLOSED.has(last.tagName)) return parent;
  // What is blank behind it would push the caret into the next line.
  parent.children = parent.children.slice(0, parent.children.indexOf(last) + 1) as ElementContent[];
  return deepestLast(last);
}

function isBlank(node: ElementContent): boolean {
  return node.type === "text" && !node.value.trim();
}
