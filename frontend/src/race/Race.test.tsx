import { act, cleanup, render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { setPreferences } from "../app/preferences";
import { recordings } from "../app/recordings";
import { PROTOCOLS, type Protocol } from "../stream/transport";
import { finishedEvent, type ScriptedRun, scripted, textEvent } from "../testing/scripted";
import { Race } from "./Race";

beforeEach(() => {
  setPreferences({ lang: "en" });
  vi.stubGlobal("fetch", async () => Response.json({ data: [{ id: "smollm2" }, { id: "other" }] }));
});
afterEach(async () => {
  // A race outlives its view: the next test begins when this one's has ended.
  for (const run of started.splice(0)) run.give(finishedEvent(999));
  await settle();
  cleanup();
});

const started: ScriptedRun[] = [];

/** Lets what was given be read, drawn, and drawn again by what draws slowly. */
const settle = () => act(() => new Promise((resolve) => setTimeout(resolve, 350)));

async function race() {
  const { start, runs } = scripted();
  render(<Race start={start} />);
  const user = userEvent.setup();
  await screen.findByRole("option", { name: "smollm2" });
  await user.click(screen.getByRole("button", { name: /^Run/ }));
  started.push(...runs.values());
  return { runs, user, run: (protocol: Protocol) => runs.get(protocol) as ScriptedRun };
}

const lane = (name: string) => within(screen.getByRole("article", { name }));

test("a race starts the same request over every protocol", async () => {
  const { runs } = await race();
  expect([...runs.keys()]).toEqual(PROTOCOLS);
  for (const { request } of runs.values()) {
    expect(request).toEqual({
      model: "smollm2",
      messages: [{ role: "user", content: "Explain back-pressure in asyncio to a colleague." }],
      max_tokens: 200,
      temperature: 0,
      on_disconnect: "cancel",
    });
  }
});

test("a lane waits, streams and is verified, with its own figures", async () => {
  const { run } = await race();
  await settle();
  expect(lane("SSE").getByText("waiting")).toBeTruthy();
  const startedAt = recordings.list().find(({ id }) => id.endsWith("sse"))?.startedAt ?? 0;
  run("sse").give(textEvent(1, "Hello"), startedAt + 84);
  await settle();
  run("sse").give(textEvent(2, " there"), startedAt + 145);
  await settle();
  expect(lane("SSE").getByText("streaming")).toBeTruthy();
  expect(lane("SSE").getByText("Hello there")).toBeTruthy();
  run("sse").give(finishedEvent(3), startedAt + 146);
  await settle();
  expect(lane("SSE").getByText("verified")).toBeTruthy();
  expect(lane("SSE").getByText("84")).toBeTruthy();
  expect(lane("SSE").getByText("61")).toBeTruthy();
  expect(screen.getByRole("img", { name: "Bytes per token: SSE 65" })).toBeTruthy();
  expect(lane("WebSocket").getByText("waiting")).toBeTruthy();
  expect(lane("WebSocket").getAllByText("–")).toHaveLength(3);
});

test("a lane that fails says why, and the others run on", async () => {
  const { run } = await race();
  const error = { code: "upstream_stalled", message: "The engine stopped answering.", retryable: true };
  run("rest").give({ seq: 1, type: "failed", error, events: 2, sha256: "" });
  run("grpcweb").give(textEvent(1, "Still here"));
  await settle();
  const alert = lane("REST stream").getByRole("alert");
  expect(alert.textContent).toContain("The engine stopped answering.");
  expect(alert.textContent).toContain("upstream_stalled");
  expect(lane("gRPC-Web").getByText("streaming")).toBeTruthy();
});

test("stop cancels every run, in the place of the button that started them", async () => {
  const { runs, user } = await race();
  await user.click(screen.getByRole("button", { name: "Stop" }));
  expect([...runs.values()].map(({ cancelled }) => cancelled)).toEqual([true, true, true, true]);
});

test("a stream that comes in bursts is named, the others are said to be even", async () => {
  const { run } = await race();
  const began = performance.now();
  for (let seq = 1; seq <= 120; seq++) {
    const at = began + 80 + seq * 24;
    run("rest").give(textEvent(seq, " a"), Math.ceil(at / 430) * 430);
    for (const protocol of ["sse", "websocket", "grpcweb"] as const)
      run(protocol).give(textEvent(seq, " a"), at);
  }
  await settle();
  const notice = screen.getByText("A proxy is buffering the REST stream.").parentElement;
  expect(notice?.textContent).toContain(
    "Its events come in bursts about 430 ms apart; the other three arrive one by one.",
  );
  expect(screen.getByRole("img", { name: /^Arrivals/ }).getAttribute("aria-label")).toBe(
    "Arrivals: SSE, WebSocket and gRPC-Web arrive evenly, REST in bursts about 430 ms apart",
  );
});

test("lanes that had to wait for the engine are not blamed on their protocols", async () => {
  const { run } = await race();
  const began = performance.now();
  for (const protocol of ["rest", "sse"] as const) {
    run(protocol).give(textEvent(1, "First"), began + 80);
    run(protocol).give(finishedEvent(2), began + 2000);
  }
  await settle();
  expect(screen.queryByText("The engine did not compute all four at once.")).toBeNull();
  for (const protocol of ["websocket", "grpcweb"] as const)
    run(protocol).give(textEvent(1, "Next"), began + 2050);
  await settle();
  const notice = screen.getByText("The engine did not compute all four at once.").parentElement;
  expect(notice?.textContent).toContain("WebSocket and gRPC-Web had to wait for another answer to end");
});

test("all lanes are recorded for Wire, with their frames", async () => {
  const { run } = await race();
  run("websocket").give(textEvent(1, "Hello"));
  await settle();
  const recorded = recordings.list().slice(0, 4);
  expect(recorded.map(({ title }) => title)).toContain(
    "Race over WebSocket: Explain back-pressure in asyncio to a colleague.",
  );
  expect(recorded.find(({ id }) => id.endsWith("websocket"))?.frames).toHaveLength(1);
});

test("a new race clears the lanes of the last one", async () => {
  const { run, runs, user } = await race();
  run("sse").give(textEvent(1, "First answer"));
  for (const protocol of PROTOCOLS) run(protocol).give(finishedEvent(2));
  await settle();
  await user.click(screen.getByRole("button", { name: "Run again" }));
  started.push(...runs.values());
  await settle();
  expect(screen.queryByText("First answer")).toBeNull();
});

test("Japanese has its own words", async () => {
  setPreferences({ lang: "ja" });
  render(<Race start={scripted().start} />);
  expect(screen.getByRole("textbox", { name: "質問" })).toBeTruthy();
  expect(screen.getAllByText("初回トークン").length).toBeGreaterThan(3);
});
