import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import { fakeStreams } from "../testing/fakeRun";

vi.mock("./streams", () => ({ streams: fakeStreams() }));
const { Composer } = await import("./Composer");

vi.stubGlobal("fetch", async () => Response.json({ ready: true, models: [], store: null }));

afterEach(cleanup);

function draw() {
  const onSubmit = vi.fn();
  const onCancel = vi.fn();
  render(
    <Composer conversation={undefined} edited={null} suggested="" onSubmit={onSubmit} onCancel={onCancel} />,
  );
  return { field: screen.getByRole<HTMLTextAreaElement>("textbox"), onSubmit, onCancel };
}

test("Enter sends, and empties the field", async () => {
  const { field, onSubmit } = draw();
  await userEvent.type(field, "Hello{Enter}");
  expect(onSubmit).toHaveBeenCalledExactlyOnceWith("Hello");
  expect(field.value).toBe("");
});

test("Shift+Enter begins a line", async () => {
  const { field, onSubmit } = draw();
  await userEvent.type(field, "one{Shift>}{Enter}{/Shift}two");
  expect(onSubmit).not.toHaveBeenCalled();
  expect(field.value).toBe("one\ntwo");
});

test("Enter that chooses a word of an input method does not send", () => {
  const { field, onSubmit } = draw();
  fireEvent.change(field, { target: { value: "にほんご" } });
  fireEvent.keyDown(field, { key: "Enter", isComposing: true });
  fireEvent.keyDown(field, { key: "Enter", keyCode: 229 }); // Safari
  expect(onSubmit).not.toHaveBeenCalled();
  fireEvent.keyDown(field, { key: "Enter", keyCode: 13 });
  expect(onSubmit).toHaveBeenCalledExactlyOnceWith("にほんご");
});

test("blanks are not sent", async () => {
  const { field, onSubmit } = draw();
  await userEvent.type(field, "  {Enter}");
  expect(onSubmit).not.toHaveBeenCalled();
});

test("the protocols are one radio group that arrow keys move in", async () => {
  draw();
  const [rest] = screen.getAllByRole<HTMLInputElement>("radio");
  rest?.focus();
  await userEvent.keyboard("{ArrowRight}");
  expect(screen.getAllByRole("radio")).toHaveLength(4);
  expect(screen.getByRole<HTMLInputElement>("radio", { name: "SSE" }).checked).toBe(true);
});
