import { expect, test } from "vitest";
import type { ReviewFigures, ReviewWeekItem } from "@/wire/types";
import { accuracyCounts, byName, figureRow, judged, rightShares, sumOf } from "./figures";

const NONE = { reviewed: 0, useful: 0, accurate: 0, partly: 0, wrong: 0 };
const week = (first_day: string, name: string, counts: Partial<ReviewWeekItem>): ReviewWeekItem => ({ first_day, name, ...NONE, ...counts });
const FIRST = "2026-03-02";
const SECOND = "2026-03-09";
const FIGURES: ReviewFigures = {
  weeks: [
    { first_day: FIRST, verdicts: 30 },
    { first_day: SECOND, verdicts: 4 },
  ],
  total: [week(FIRST, "", { reviewed: 21, useful: 18, accurate: 18, wrong: 2 })],
  by_confidence: [week(FIRST, "low", { reviewed: 1 }), week(FIRST, "high", { reviewed: 12, useful: 11, accurate: 11, wrong: 1 }), week(SECOND, "high", { reviewed: 8, useful: 7, accurate: 7, wrong: 1 })],
  by_model: [],
  by_chain: [],
  by_alert_type: [],
};

test("high was right in 18 of 20, and what nobody judged counts for neither side", () => {
  expect(byName(FIGURES.by_confidence).map(figureRow)).toEqual([
    ["high", "18 of 20", "0", "2", "18 of 20"],
    ["low", "–", "0", "0", "0 of 1"],
  ]);
  expect(judged(sumOf(FIGURES.total))).toBe(20);
});

test("a week without a judged verdict has no share, and a count of zero", () => {
  expect(rightShares(FIGURES, "by_confidence")).toEqual([
    { name: "high", values: [11 / 12, 7 / 8] },
    { name: "low", values: [null, null] },
  ]);
  expect(accuracyCounts(FIGURES).map(({ name, values }) => [name, values])).toEqual([
    ["Accurate", [18, 0]],
    ["Partly accurate", [0, 0]],
    ["Wrong", [2, 0]],
  ]);
});
