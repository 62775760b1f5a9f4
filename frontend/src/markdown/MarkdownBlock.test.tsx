import { cleanup, render } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { MarkdownBlock } from "./MarkdownBlock";

afterEach(cleanup);

function draw(source: string, live: string | null = null): HTMLElement {
  return render(<MarkdownBlock source={source} live={live} />).container;
}

test.each([
  "[click](javascript:alert(1))",
  "[click](JaVaScRiPt:alert(1))",
  "[click](data:text/html,<script>alert(1)</script>)",
  "[click](vbscript:x)",
  "[click](//evil.example)",
  "[click](/v1/streams?prompt=x)",
  "[click]( javascript:alert(1))",
  "<javascript:alert(1)>",
])("no link leads where a click does harm: %s", (source) => {
  expect(draw(source).querySelector("a")).toBeNull();
});

test("links to the web open apart and tell nobody where they were", () => {
  const link = draw("See [this](https://example.com/a?b=c).").querySelector("a");
  expect(link?.getAttribute("href")).toBe("https://example.com/a?b=c");
  expect(link?.rel).toContain("noopener");
  expect(draw("<mailto:a@example.com>").querySelector("a")?.getAttribute("href")).toBe(
    "mailto:a@example.com",
  );
});

test("HTML of the model is text", () => {
  const box = draw('Hello <img src=x onerror="alert(1)"> <script>alert(1)</script> <b>bold</b>');
  expect(box.querySelector("img, script, b")).toBeNull();
  expect(box.textContent).toContain("<b>bold</b>");
});

test("an image is a link to it, and is not loaded", () => {
  const box = draw("![a cat](https://tracker.example/cat.png)");
  expect(box.querySelector("img")).toBeNull();
  expect(box.querySelector("a")?.getAttribute("href")).toBe("https://tracker.example/cat.png");
  expect(box.textContent).toContain("a cat");
});

test("an open mark is closed while more may come", () => {
  expect(draw("This is **bo", "sse").querySelector("strong")?.textContent).toBe("bo");
  expect(draw("This is [a li", "sse").textContent).toBe("This is a li");
});

test.each([
  ["a paragraph", "Hello", "p"],
  ["a list", "- one\n- two", "li:last-child"],
  ["a table", "| a | b |\n| - | - |\n| 1 | 2 |", "td:last-child"],
  ["a code box", "```js\nlet a", "code"],
])("the caret stands behind the last character of %s", (_, source, place) => {
  const caret = draw(source, "websocket").querySelectorAll(".caret");
  expect(caret).toHaveLength(1);
  expect(caret[0]?.closest(place)).not.toBeNull();
  expect(caret[0]?.getAttribute("data-p")).toBe("websocket");
  expect(caret[0]?.nextSibling).toBeNull();
});

test("an open fence is a box of code from its first line, with its language", () => {
  const box = draw("```python\nprint(1)", "sse");
  expect(box.querySelector(".code header span")?.textContent).toBe("python");
  expect(box.querySelector("pre")?.textContent).toBe("print(1)");
});

test("lists count on from where they begin", () => {
  expect(draw("3. three\n4. four").querySelector("ol")?.style.counterReset).toBe("n 2");
});
