import { expect, test } from "vitest";
import { GAP_TICKS, gapPlace, halfPixel, secondsFor, spanFor } from "./scale";

test("the time axis doubles when it is full, and only then", () => {
  expect([0, 6000, 6001, 12_000, 30_000].map(spanFor)).toEqual([6000, 6000, 12_000, 12_000, 48_000]);
});

test("an axis has a line a second where there is room, and fewer where there is none", () => {
  expect(secondsFor(6000, 796)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(secondsFor(48_000, 330)).toEqual([0, 10, 20, 30, 40]);
  expect(secondsFor(800, 400)).toEqual([0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]);
});

test("gaps stand on a logarithmic axis, and never outside of it", () => {
  expect(GAP_TICKS.map((ms) => Number(gapPlace(ms).toFixed(3)))).toEqual([0, 0.234, 0.411, 0.589, 0.823, 1]);
  expect(gapPlace(0)).toBe(0);
  expect(gapPlace(9000)).toBe(1);
});

test("positions are held to half pixels", () => {
  expect([1.2, 1.3, 1.75].map(halfPixel)).toEqual([1, 1.5, 2]);
});
