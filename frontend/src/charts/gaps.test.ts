import { describe, expect, test } from "vitest";
import { figuresOf } from "./figures";
import { gapsOf, quantile, spreadOf } from "./gaps";

describe("gaps", () => {
  test("there is one gap less than there are events", () => {
    expect(gapsOf([5, 10, 10, 40])).toEqual([5, 0, 30]);
    expect(gapsOf([5])).toEqual([]);
  });

  test("a quantile lies between its neighbours", () => {
    expect(quantile([10, 20, 30, 40], 0.5)).toBe(25);
    expect(quantile([10, 20, 30], 1)).toBe(30);
  });

  test("the spread leaves 5 % out on either side, but not the longest", () => {
    const times = Array.from({ length: 102 }, (_, n) => n * 20);
    times.push(101 * 20 + 400);
    expect(spreadOf(times)).toEqual({ low: 20, median: 20, high: 20, longest: 400 });
  });

  test("one event has no gaps", () => {
    expect(spreadOf([7])).toBeNull();
  });
});

describe("figures", () => {
  const even = {
    startedAt: 1000,
    times: [1080, 1100, 1120, 1140, 1160],
    bytes: 250,
    tokens: 5,
    endedAt: null,
  };

  test("the first token is counted from the request, the rate from the first token", () => {
    expect(figuresOf(even)).toMatchObject({ firstTokenMs: 80, tokensPerSecond: 50, bytesPerToken: 50 });
  });

  test("pieces of several tokens count as their tokens", () => {
    expect(figuresOf({ ...even, tokens: 10 })).toMatchObject({ tokensPerSecond: 100, bytesPerToken: 25 });
  });

  test("nothing is claimed before it is known", () => {
    const nothing = { firstTokenMs: null, tokensPerSecond: null, gaps: null, bytesPerToken: null };
    expect(figuresOf({ ...even, times: [], bytes: 0, tokens: 0 })).toEqual(nothing);
    expect(figuresOf({ ...even, times: [1080], bytes: 50, tokens: 1 }).tokensPerSecond).toBeNull();
  });

  test("an answer that came in one piece has no rate", () => {
    expect(figuresOf({ ...even, times: [1500, 1500.1, 1501] }).tokensPerSecond).toBeNull();
  });
});
