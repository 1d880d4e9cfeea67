import { act, renderHook } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { useFixedPeriodStart } from "./search-params";
import { useMinute } from "./times";

test("the start of a period stays while the pages of a list are read, and is computed anew for another period", () => {
  vi.useFakeTimers({ now: Date.parse("2026-03-10T09:00:00Z") });
  const { result, rerender } = renderHook(({ since }: { since: "1h" | "24h" }) => [useFixedPeriodStart(since), useMinute()], { initialProps: { since: "1h" } });
  expect(result.current).toEqual(["2026-03-10T08:00:00.000Z", Date.parse("2026-03-10T09:00:00Z")]);
  act(() => void vi.advanceTimersByTime(30 * 60_000));
  expect(result.current).toEqual(["2026-03-10T08:00:00.000Z", Date.parse("2026-03-10T09:30:00Z")]);
  rerender({ since: "24h" });
  expect(result.current[0]).toBe("2026-03-09T08:00:00.000Z");
  vi.useRealTimers();
});
