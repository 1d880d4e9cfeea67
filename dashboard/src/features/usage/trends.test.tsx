import { expect, test } from "vitest";
import type { DayUsageItem, WeekItem } from "@/wire/types";
import { daySeries, daysOf, verdictShares, verdictTimes } from "./trends";

const DAYS = daysOf({ first_day: "2026-02-27", last_day: "2026-03-01" });
const used = (day: string, name: string, tokens: number): DayUsageItem => ({ day, name, tokens, calls: 1, cost_usd: 0 });
const WEEK: WeekItem = { first_day: "2026-03-02", fault: 0, no_fault: 0, inconclusive: 0, no_verdict: 0, median_seconds: null, p90_seconds: null };

test("every day of the period is drawn, also one without usage", () => {
  expect(DAYS.map((day) => new Date(day * 1_000).toISOString())).toEqual(["2026-02-27T00:00:00.000Z", "2026-02-28T00:00:00.000Z", "2026-03-01T00:00:00.000Z"]);
  expect(daySeries([used("2026-02-27", "a", 3), used("2026-03-01", "a", 4)], DAYS, "tokens")).toEqual([{ name: "a", values: [3, 0, 4] }]);
  expect(daysOf({ first_day: "2026-03-01", last_day: "2026-03-01" })).toHaveLength(1);
});

test("the largest come first, and the smallest of many are added up", () => {
  const series = daySeries(Array.from({ length: 8 }, (_, index) => used("2026-02-28", `model ${index}`, index + 1)), DAYS, "tokens");
  expect(series.map(({ name }) => name)).toEqual(["model 7", "model 6", "model 5", "model 4", "model 3", "3 others"]);
  expect(series.at(-1)?.values).toEqual([0, 6, 0]);
});

test("shares are those of the verdicts, and a week without one has none", () => {
  const weeks = [WEEK, { ...WEEK, fault: 3, no_fault: 1, no_verdict: 9, median_seconds: 60, p90_seconds: 90 }];
  expect(verdictShares(weeks).map(({ name, values }) => [name, ...values])).toEqual([
    ["Fault", null, 0.75],
    ["Inconclusive", null, 0],
    ["No fault", null, 0.25],
  ]);
  expect(verdictTimes(weeks).map(({ values }) => values)).toEqual([
    [null, 60],
    [null, 90],
  ]);
});
