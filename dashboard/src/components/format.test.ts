import { expect, test, vi } from "vitest";
import { formatBytes, formatCeiling, formatCount, formatDuration, formatRelative, formatTextSize, plural } from "./format";

test.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [999.7, "1.0 s"],
  [1_500, "1.5 s"],
  [9_990, "10 s"],
  [59_000, "59 s"],
  [61_000, "1 m 1 s"],
  [3_720_000, "1 h 2 m"],
])("%d milliseconds are %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [2, "just now"],
  [42, "42 s ago"],
  [150, "2 m ago"],
  [7_300, "2 h ago"],
  [200_000, "2 d ago"],
  [-90, "in 1 m"],
])("%d seconds back is %s", (seconds, text) => {
  const now = new Date("2026-03-10T09:00:00Z");
  expect(formatRelative(new Date(now.getTime() - seconds * 1_000), now)).toBe(text);
});

test("beyond a month the date says more", () => {
  expect(formatRelative(new Date("2025-12-01T12:00:00Z"), new Date("2026-03-10T00:00:00Z"))).toBe("2025-12-01");
});

test("the date is that of the exact time in its tooltip, which is local", async () => {
  vi.stubEnv("TZ", "Pacific/Kiritimati");
  // The formatters have the time zone in which they were made.
  vi.resetModules();
  const local = await import("./format");
  const at = new Date("2025-12-01T12:00:00Z");
  expect(local.formatRelative(at, new Date("2026-03-10T00:00:00Z"))).toBe("2025-12-02");
  expect(local.formatExact(at)).toMatch(/^Dec 2, 2025, .* \(2025-12-01 12:00:00 UTC\)$/);
  vi.unstubAllEnvs();
});

test("counts and sizes are short", () => {
  expect([950, 4_312, 9_990, 34_315, 999_900, 2_500_000].map(formatCount)).toEqual(["950", "4.3k", "10k", "34k", "1.0M", "2.5M"]);
  expect([10, 2_048, 204_800].map(formatBytes)).toEqual(["10 B", "2.0 kB", "200 kB"]);
  expect(["ab", "ä", "😀"].map(formatTextSize)).toEqual(["2 B", "2 B", "4 B"]);
  expect([plural(1, "line"), plural(2, "line"), plural(0, "reply", "replies")]).toEqual(["1 line", "2 lines", "0 replies"]);
});

test("a ceiling is described by what it limits", () => {
  expect(formatCeiling({ usd: 0.2, tokens: null, seconds: 300, model_calls: null, tool_calls: null })).toBe("$0.20, 5 min");
  expect(formatCeiling({ usd: null, tokens: 50_000, seconds: 90, model_calls: 1, tool_calls: 20 })).toBe("50k tokens, 90 s, 1 model call, 20 tool calls");
});
