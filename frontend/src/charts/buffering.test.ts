import { describe, expect, test } from "vitest";
import { burstsOf, heldBack } from "./buffering";

/** Made-up traces: an engine's even pace, with the jitter of a busy machine, and what a buffer makes of it. */
function evenly(count: number, paceMs: number, from = 80): number[] {
  return Array.from({ length: count }, (_, n) => from + n * paceMs + ((n * 7) % 5));
}

function buffered(times: readonly number[], everyMs: number): number[] {
  return times.map((time, n) => Math.ceil(time / everyMs) * everyMs + (n % 18) * 0.1);
}

describe("bursts", () => {
  test("an even stream is no buffering, whatever its pace", () => {
    for (const pace of [2, 10, 24, 150, 400]) expect(burstsOf(evenly(300, pace))).toBeNull();
  });

  test("a proxy that lets go of its buffer every 430 ms is named, with that time", () => {
    const found = burstsOf(buffered(evenly(200, 24), 430));
    expect(found).toMatchObject({ kind: "bursts" });
    expect(found?.kind === "bursts" && found.apartMs).toBeCloseTo(430, -1);
  });

  test("larger buffers give longer silences and are found, too", () => {
    expect(burstsOf(buffered(evenly(600, 24), 2300))).toMatchObject({ kind: "bursts" });
  });

  test("nothing is said before fifty events, or of two silences", () => {
    expect(burstsOf(buffered(evenly(49, 24), 300))).toBeNull();
    expect(burstsOf(buffered(evenly(100, 24, 0), 1200))).toBeNull();
  });

  test("it is withdrawn after fifty even events, and not before", () => {
    const bursts = buffered(evenly(200, 24), 430);
    const then = (bursts.at(-1) ?? 0) + 24;
    expect(burstsOf([...bursts, ...evenly(30, 24, then)])).not.toBeNull();
    expect(burstsOf([...bursts, ...evenly(60, 24, then)])).toBeNull();
  });

  test("a fast engine that pauses now and then is no proxy", () => {
    const even = Array.from({ length: 900 }, (_, n) => n * 3);
    expect(burstsOf(even.map((time, n) => time + Math.floor(n / 250) * 300))).toBeNull();
  });

  test("fast streams on a machine that stalls are not taken for buffered, and never for good", () => {
    const stalled = Array.from(
      { length: 1900 },
      (_, n) => n * 3 + (n > 90 ? 580 : 0) + (n > 150 ? 430 : 0) + (n > 160 ? 210 : 0),
    );
    expect(burstsOf(stalled)).toBeNull();
    const burstsFirst = [...buffered(evenly(100, 24), 430), ...stalled.map((time) => time + 4000)];
    expect(burstsOf(burstsFirst.slice(0, 100))).not.toBeNull();
    expect(burstsOf(burstsFirst)).toBeNull();
  });

  test("silences that all streams share are the engine's or the machine's", () => {
    const engine = buffered(evenly(200, 24), 430);
    const slightlyLater = engine.map((time) => time + 8);
    expect(burstsOf(engine, [slightlyLater])).toBeNull();
    expect(burstsOf(engine, [slightlyLater, evenly(200, 24)])).not.toBeNull();
  });

  test("an engine that gives several tokens at a time, often, is no proxy", () => {
    expect(
      burstsOf(evenly(300, 60).flatMap((time) => [time, time + 0.1, time + 0.2, time + 0.3, time + 0.4])),
    ).toBeNull();
  });
});

describe("an answer in one piece", () => {
  const others = [evenly(280, 25), evenly(280, 25)];
  const atOnce = Array.from({ length: 280 }, (_, n) => 7040 + n * 0.02);

  test("nginx with gzip: everything comes when the others have it all", () => {
    expect(heldBack(0, atOnce, others)).toEqual({ kind: "whole", afterMs: 7040 });
  });

  test("a machine that stalls now and then does not hide it", () => {
    const uneven = evenly(280, 25)
      .map((time, n) => (n % 5 < 2 ? Math.ceil(time / 100) * 100 : time))
      .sort((a, b) => a - b);
    expect(heldBack(0, atOnce, [uneven])).toEqual({ kind: "whole", afterMs: 7040 });
  });

  test("a fast engine gives everything at once over every protocol", () => {
    expect(heldBack(0, atOnce, [atOnce, atOnce])).toBeNull();
  });

  test("a late stream that comes one by one was not held back", () => {
    expect(heldBack(0, evenly(200, 25, 3000), others)).toBeNull();
  });

  test("a few events prove nothing", () => {
    expect(heldBack(0, atOnce.slice(0, 10), others)).toBeNull();
  });
});
