// Replaced by real tests as the UI grows.
import { expect, test } from "vitest";

test("the page has a place to mount in", () => {
  document.body.innerHTML = '<div id="root"></div>';
  expect(document.getElementById("root")).not.toBeNull();
});
