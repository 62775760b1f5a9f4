import { act, cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { setPreferences } from "../app/preferences";
import { Recordings } from "../app/recordings";
import { finishedEvent, frameOf, ScriptedRun, textEvent } from "../testing/scripted";
import { Wire } from "./Wire";

let width = 1440;

beforeEach(() => {
  setPreferences({ lang: "en" });
  location.hash = "";
  width = 1440;
  // A layout for the virtual list, which happy-dom has not.
  const size = (pixels: number) => ({ configurable: true, get: () => pixels });
  Object.defineProperties(HTMLDivElement.prototype, { clientHeight: size(600), clientWidth: size(1000) });
  vi.stubGlobal("matchMedia", (query: string) => {
    const [, side, limit] = /\((min|max)-width: (\d+)px\)/.exec(query) ?? [];
    const matches = side === "min" ? width >= Number(limit) : side === "max" ? width <= Number(limit) : false;
    return { matches, addEventListener() {}, removeEventListener() {} };
  });
});
afterEach(cleanup);

function recorded(events = 40): Recordings {
  const recordings = new Recordings();
  recordings.add("old", "An older answer");
  const { startedAt } = recordings.add("new", "nginx buffers my stream");
  const run = new ScriptedRun({ messages: [] }, { protocol: "sse" });
  recordings.run("new", run);
  const head = {
    at: startedAt,
    protocol: "sse",
    direction: "out",
    head: "POST /v1/streams",
    bytes: new Uint8Array(),
  };
  recordings.frame("new", { ...head, protocol: "sse", direction: "out" });
  for (let seq = 1; seq <= events; seq++) {
    const at = startedAt + 60 + seq * 24;
    recordings.frame("new", frameOf("sse", textEvent(seq, ` word${seq}`), at));
    recordings.event("new", textEvent(seq, ` word${seq}`), at);
  }
  recordings.event("new", finishedEvent(events + 1), startedAt + 60 + events * 24);
  run.phase = "finished";
  run.verified = "verified";
  return recordings;
}

const show = (recordings: Recordings) => {
  render(<Wire recordings={recordings} />);
  return { user: userEvent.setup(), grid: screen.getByRole("grid", { name: "Frames" }) };
};
const active = (grid: HTMLElement) =>
  document.getElementById(grid.getAttribute("aria-activedescendant") ?? "")?.textContent;

test("nothing recorded: it says where frames come from", () => {
  render(<Wire recordings={new Recordings()} />);
  expect(screen.getByRole("heading").textContent).toBe("Nothing has come over the wire yet");
  expect(screen.getByRole("link", { name: "Race" }).getAttribute("href")).toBe("#/race");
});

test("the newest answer's facts and frames are shown, as they came", () => {
  const { grid } = show(recorded());
  expect(screen.getByText("first token 84 ms")).toBeTruthy();
  expect(screen.getByText("verified")).toBeTruthy();
  const row = within(grid)
    .getByText(/word1"/)
    .closest('[role="row"]');
  expect(row?.textContent).toContain('id: 1↵event: text↵data: {"seq":1,"type":"text","text":" word1"}↵↵');
  expect(row?.textContent).toContain("0.084");
});

test("only what is in sight is in the page", () => {
  const { grid } = show(recorded(5000));
  expect(Number(grid.getAttribute("aria-rowcount"))).toBeGreaterThan(5000);
  const rows = within(grid).getAllByRole("row").length;
  expect(rows).toBeGreaterThan(20);
  expect(rows).toBeLessThan(60);
});

test("arrow keys walk the frames, past heads, and the detail follows", async () => {
  const { user, grid } = show(recorded());
  expect(active(grid)).toContain("word1");
  grid.focus();
  await user.keyboard("{ArrowDown}{ArrowDown}");
  expect(active(grid)).toContain("word3");
  expect(screen.getByRole("heading", { name: "Event 3" })).toBeTruthy();
  await user.keyboard("{End}");
  expect(screen.getByRole("heading", { name: "Event 40" })).toBeTruthy();
  await user.keyboard("{Home}");
  expect(screen.getByRole("heading", { name: "Event 1" })).toBeTruthy();
});

test("the buttons of the detail go to the next frame and back", async () => {
  const { user } = show(recorded());
  await user.click(screen.getByRole("button", { name: "Next frame" }));
  expect(screen.getByRole("heading", { name: "Event 2" })).toBeTruthy();
  await user.click(screen.getByRole("button", { name: "Previous frame" }));
  expect(screen.getByRole("heading", { name: "Event 1" })).toBeTruthy();
});

test("without room beside the frames a frame opens as a sheet, and closes", async () => {
  width = 800;
  const { user, grid } = show(recorded());
  expect(screen.queryByRole("heading", { name: /Event/ })).toBeNull();
  await user.click(within(grid).getByText(/word2"/));
  const sheet = screen.getByRole("dialog", { name: "Frame" });
  expect(within(sheet).getByRole("heading", { name: "Event 2" })).toBeTruthy();
  await user.click(within(sheet).getByRole("button", { name: "Close" }));
  expect(screen.queryByRole("dialog")).toBeNull();
});

test("a filter with nothing to show says so", async () => {
  const { user } = show(recorded());
  await user.click(screen.getByRole("radio", { name: "Heartbeats" }));
  expect(screen.getByText("No heartbeats in this answer.")).toBeTruthy();
  await user.click(screen.getByRole("radio", { name: "Text" }));
  expect(screen.getByRole("grid")).toBeTruthy();
});

test("frames that come are shown while one looks", async () => {
  const recordings = recorded();
  const { grid } = show(recordings);
  const before = Number(grid.getAttribute("aria-rowcount"));
  recordings.frame("new", frameOf("sse", textEvent(99, "late"), performance.now()));
  await act(() => new Promise((resolve) => setTimeout(resolve, 300)));
  expect(Number(grid.getAttribute("aria-rowcount"))).toBe(before + 1);
});
