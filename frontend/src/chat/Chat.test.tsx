// The page as a whole, over runs that the test leads.

import "fake-indexeddb/auto";
import { act, cleanup, render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { Profiler } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { App } from "../app/App";
import { setPreferences } from "../app/preferences";
import { type FakeStreams, failed, fakeStreams, finished, said, started, turns } from "../testing/fakeRun";

const fakes = vi.hoisted(() => ({ streams: {} as FakeStreams }));
vi.mock("./streams", () => ({
  streams: {
    start: (...given: Parameters<FakeStreams["start"]>) => fakes.streams.start(...given),
    follow: (...given: Parameters<FakeStreams["follow"]>) => fakes.streams.follow(...given),
  },
}));

const READY = {
  ready: true,
  store: { kind: "memory", ok: true },
  models: [{ id: "smollm2", state: "ready" }],
};
const MODELS = { object: "list", data: [{ id: "smollm2", owned_by: "polystream" }] };

let frames: FrameRequestCallback[] = [];
let commits = 0;

beforeEach(() => {
  fakes.streams = fakeStreams();
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (task: FrameRequestCallback) => frames.push(task));
  vi.stubGlobal("fetch", async (url: string) => Response.json(url === "/readyz" ? READY : MODELS));
  vi.stubGlobal("matchMedia", (query: string) => ({
    matches: !query.includes("dark"),
    addEventListener: () => {},
    removeEventListener: () => {},
  }));
  setPreferences({ lang: "en", theme: "light", protocol: "sse" });
});

afterEach(async () => {
  await frame();
  cleanup();
  vi.unstubAllGlobals();
  location.hash = "";
});

async function frame(): Promise<void> {
  await act(async () => {
    await turns(50);
    for (const task of frames.splice(0)) task(0);
  });
}

async function open(): Promise<void> {
  location.hash = "#/chat";
  render(
    <Profiler id="app" onRender={() => (commits += 1)}>
      <App />
    </Profiler>,
  );
  await screen.findByRole("heading", { name: "Ask something, and watch it travel" });
}

async function ask(text: string): Promise<void> {
  const before = fakes.streams.runs.length;
  await userEvent.type(screen.getByRole("textbox", { name: "Message" }), `${text}{Enter}`);
  await waitFor(() => expect(fakes.streams.runs.length).toBe(before + 1));
}

/** Events come, and are drawn. */
async function give(...events: Parameters<ReturnType<FakeStreams["last"]>["give"]>[0][]): Promise<void> {
  for (const event of events) fakes.streams.last().give(event);
  for (let count = 0; count < 3; count += 1) await frame();
}

test("a message is answered, with figures, and the conversation has its name in the list", async () => {
  await open();
  await ask("Why is the sky blue?");
  await give(started(), said(1, "Because of **scattering**."));
  expect((await screen.findByText("scattering")).tagName).toBe("STRONG");
  expect(screen.getByRole("button", { name: "Stop" })).toBeTruthy();
  await give(finished(2));
  await screen.findByRole("button", { name: "Regenerate" });
  expect(screen.getByText("3 events")).toBeTruthy();
  const list = screen.getByRole("navigation", { name: "Conversations" });
  expect(within(list).getByText("Why is the sky blue?")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Send" })).toBeTruthy();
});

test("a frame is one commit, however many tokens came", async () => {
  await open();
  await ask("Go on");
  await give(started(), said(1, "Hello"));
  await screen.findByText("Hello");
  for (let seq = 2; seq < 40; ) {
    for (let token = 0; token < 10; token += 1) fakes.streams.last().give(said(seq++, ` ${seq}`));
    await turns(200);
    commits = 0;
    await frame();
    expect(commits).toBe(1);
  }
});

test("Drop and the picker act on the answer that runs", async () => {
  await open();
  await ask("Go on");
  await give(started(), said(1, "Hello"));
  await userEvent.click(screen.getByRole("button", { name: "Drop connection" }));
  await userEvent.click(screen.getByRole("radio", { name: "WebSocket" }));
  expect(fakes.streams.last().calls).toEqual(["drop", "switch websocket"]);
  fakes.streams.last().connect("dropped", "websocket");
  await give(said(2, " again.\n\nMore."));
  expect(await screen.findByText("Connection dropped at event 1, continued over WebSocket")).toBeTruthy();
});

test("a failure is said in words, with what is safe and what to do", async () => {
  await open();
  await ask("Go on");
  await give(started(), said(1, "Half"), failed(2, "upstream_stalled"));
  const alert = await screen.findByRole("alert");
  expect(alert.textContent).toContain("The engine stopped answering.");
  expect(alert.textContent).toContain("The 3 events above are safe.");
  expect(alert.textContent).toContain("upstream_stalled · gen_1");
  await userEvent.click(within(alert).getByRole("button", { name: "Try again" }));
  expect(fakes.streams.runs).toHaveLength(2);
});

test("an edited message takes the place of the old one, and what came later can be put back", async () => {
  await open();
  await ask("First");
  await give(started(), said(1, "One."), finished(2));
  await ask("Second");
  await give(started(), said(1, "Two."), finished(2));
  await waitFor(() => expect(screen.getAllByRole("button", { name: "Edit and send again" })).toHaveLength(2));
  const [edit] = screen.getAllByRole("button", { name: "Edit and send again" });
  await userEvent.click(edit as HTMLElement);
  const field = screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" });
  expect(field.value).toBe("First");
  await userEvent.type(field, " again{Enter}");
  expect(screen.queryByText("Second")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Undo" }));
  expect(screen.getByText("Second")).toBeTruthy();
});

test("a conversation is deleted without a dialog, and comes back", async () => {
  await open();
  await ask("Keep me");
  await give(started(), said(1, "Yes."), finished(2));
  await userEvent.click(screen.getByRole("button", { name: "Settings" }));
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Delete" }));
  await screen.findByText("“Keep me” deleted.");
  await userEvent.click(screen.getByRole("button", { name: "Undo" }));
  expect((await screen.findAllByText("Keep me")).length).toBeGreaterThan(1);
});

test("the whole page changes its language at once", async () => {
  await open();
  await userEvent.click(screen.getByRole("button", { name: "日本語で表示" }));
  expect(screen.getByRole("heading", { name: "質問すると、届き方まで見えます" })).toBeTruthy();
  expect(screen.getByRole("link", { name: "通信" })).toBeTruthy();
});
