import { expect, test } from "vitest";
import { merged } from "../app/models";
import { read } from "../app/readiness";
import { href, parse } from "../app/routes";
import { en } from "../i18n/en";
import { highlight } from "../markdown/highlight";
import { conversation, turn } from "../testing/conversations";
import { titleFrom } from "./conversation";
import { byDay, matches } from "./days";
import { gapChart } from "./gapChart";
import { readNumber, SAMPLING_RULES } from "./numbers";
import { routeOf } from "./routeOf";
import { sentencesFrom } from "./sentences";

test("addresses lead to views and back", () => {
  expect(parse(href("wire", "a/b c"))).toEqual({ view: "wire", id: "a/b c" });
  expect(parse("")).toEqual({ view: "chat", id: null });
  expect(parse("#/nowhere/%E0%A4%A")).toEqual({ view: "chat", id: null });
});

test("readiness that cannot be read came from nobody", () => {
  expect(read({ error: { code: "upstream_unavailable" } }).status).toBe("unreachable");
  expect(read(null).status).toBe("unreachable");
  expect(read({ ready: false, models: [{ id: "m", state: "unavailable" }] }).status).toBe("down");
});

test("models that are not ready follow those that are", () => {
  const down = {
    status: "ready",
    store: null,
    models: [
      { id: "a", state: "ready" },
      { id: "b", state: "unavailable" },
    ],
  } as const;
  expect(merged([{ id: "a", state: "ready", engine: "" }], down).map(({ id }) => id)).toEqual(["a", "b"]);
});

test("a title is the first line of what was asked", () => {
  expect(titleFrom("  Why?\nBecause.")).toBe("Why?");
  expect([...titleFrom("𠮷".repeat(100))]).toHaveLength(60);
});

test("conversations stand under their day", () => {
  const now = new Date(2026, 10, 20, 12).getTime();
  const at = (year: number, month: number, day: number) =>
    conversation({ updated: new Date(year, month, day, 23).getTime() });
  const list = [at(2026, 10, 20), at(2026, 10, 19), at(2026, 10, 3), at(2025, 10, 3)];
  expect(byDay(list, now, en).map(({ name }) => name)).toEqual([
    "Today",
    "Yesterday",
    "November",
    "November 2025",
  ]);
});

test("a search finds words anywhere, in any order", () => {
  const talk = conversation({ title: "Proxies", turns: [turn("1", "Why NGINX?", { text: "It buffers." })] });
  expect(matches(talk, "buffers nginx")).toBe(true);
  expect(matches(talk, "envoy")).toBe(false);
});

test.each([
  ["0.7", "top_p", 0.7],
  ["１", "top_p", 1],
  ["1.1", "top_p", undefined],
  ["512", "max_tokens", 512],
  ["0", "max_tokens", undefined],
  ["1.5", "max_tokens", undefined],
  ["1e3", "seed", undefined],
  ["", "seed", undefined],
] as const)("%j as %s is %s", (text, name, value) => {
  expect(readNumber(text, SAMPLING_RULES[name])).toBe(value);
});

test("only whole sentences are spoken, without Markdown's marks", () => {
  const text = "Use **this** [link](https://x.y). And `that";
  const first = sentencesFrom(text, 0);
  expect(first.text).toBe("Use this link.");
  expect(sentencesFrom(text, first.end).text).toBe("");
  expect(sentencesFrom("はい。いいえ", 0).text).toBe("はい。");
});

test("a route tells each change once, and at most four", () => {
  const seam = (protocol: "rest" | "sse" | "websocket" | "grpcweb") =>
    ({ at: 0, seq: 0, protocol, cause: "dropped", time: 0, count: 1 }) as const;
  const answer = (...protocols: Parameters<typeof seam>[0][]) =>
    turn("1", "", { protocol: "sse", seams: protocols.map(seam) }).answer;
  expect(routeOf(answer("sse", "rest", "rest"))).toEqual(["sse", "rest"]);
  expect(routeOf(answer("rest", "sse", "rest", "websocket", "grpcweb"))).toEqual([
    "sse",
    "rest",
    "websocket",
    "grpcweb",
  ]);
});

test("code is its pieces, whatever the language", () => {
  const line = "    proxy_read_timeout 75s;   # above the 'heartbeat' http://x:80";
  for (const language of ["nginx", "python", "", "sql", "html", "unknown"]) {
    expect(
      highlight(line, language)
        .map(({ text }) => text)
        .join(""),
    ).toBe(line);
  }
  expect(
    highlight(line, "nginx")
      .filter(({ kind }) => kind)
      .map(({ kind, text }) => `${kind} ${text}`),
  ).toEqual(["k proxy_read_timeout", "n 75s", "c # above the 'heartbeat' http://x:80"]);
});

test("the chart knows its longest gap and who ended it", () => {
  const at = [0, 20, 40, 252, 270];
  const events = at.map((time, seq) => ({ at: time, event: { seq, type: "text", text: "x" } as const }));
  const connections = [
    { protocol: "sse", openedAt: 0, firstSeq: 0 },
    { protocol: "websocket", openedAt: 41, firstSeq: 3 },
  ] as const;
  const chart = gapChart(events, connections, 268);
  expect(chart).toMatchObject({ longest: 212, longestSeq: 3, grid: [0, 100, 200], firstSeq: 0, lastSeq: 4 });
  expect(chart.ticks.map(({ protocol, bars }) => [protocol, bars.length])).toEqual([
    ["sse", 2],
    ["websocket", 2],
  ]);
});
