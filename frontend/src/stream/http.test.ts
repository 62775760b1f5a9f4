// @vitest-environment node
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { at, refusal, retryAfterMs } from "./http.js";

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2026, 7, 1, 12, 0, 0) });
});

afterEach(() => {
  vi.useRealTimers();
});

test("Retry-After is a number of seconds or a date", () => {
  expect(retryAfterMs(null)).toBeUndefined();
  expect(retryAfterMs("0")).toBe(0);
  expect(retryAfterMs(" 120 ")).toBe(120_000);
  expect(retryAfterMs("Sat, 01 Aug 2026 12:00:05 GMT")).toBe(5000);
  expect(retryAfterMs("Sat, 01 Aug 2026 11:00:00 GMT")).toBe(0);
  expect(retryAfterMs("soon")).toBeUndefined();
  expect(retryAfterMs("99999999999999")).toBe(3_600_000);
});

test("an error without our body is told by its status", () => {
  const of = (status: number, body = "<h1>Oops") => refusal(new Response(null, { status }), body);
  expect(of(503)).toMatchObject({ code: "overloaded", retryable: true });
  expect(of(502, "")).toMatchObject({ code: "upstream_error", retryable: true });
  expect(of(429, "{}")).toMatchObject({ code: "rate_limited", retryable: true });
  expect(of(404, "[1]")).toMatchObject({ code: "not_found", retryable: false });
  expect(of(410, "null")).toMatchObject({ code: "position_lost", retryable: false });
  expect(of(418)).toMatchObject({ code: "invalid_request", retryable: false, message: "HTTP 418" });
  expect(of(500, '{"error":{}}')).toMatchObject({
    code: "upstream_error",
    retryable: false,
    message: "HTTP 500",
  });
});

test("a base may end with a slash, have a path, or be nothing", () => {
  expect(at("", "/v1")).toBe("/v1");
  expect(at("http://a/", "/v1")).toBe("http://a/v1");
  expect(at("http://a/b", "/v1")).toBe("http://a/b/v1");
});
