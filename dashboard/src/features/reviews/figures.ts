/** Figures of reviews, added up for tables and put into series for charts. */
import type { ChartSeries } from "@/components/chart-data";
import type { ReviewFigures, ReviewWeekItem } from "@/wire/types";

export type Group = "by_confidence" | "by_model" | "by_chain" | "by_alert_type";
type Counts = Pick<ReviewWeekItem, "reviewed" | "useful" | "accurate" | "partly" | "wrong">;

// As many lines as a reader can distinguish.
const MOST_SERIES = 6;

/** The reviews in which a person marked the verdict as right or wrong. */
export function judged({ accurate, partly, wrong }: Counts): number {
  return accurate + partly + wrong;
}

export function sumOf(items: readonly Counts[]): Counts {
  const sum = (name: keyof Counts) => items.reduce((total, item) => total + item[name], 0);
  return { reviewed: sum("reviewed"), useful: sum("useful"), accurate: sum("accurate"), partly: sum("partly"), wrong: sum("wrong") };
}

/** The sums of each name, the most reviewed first. */
export function byName(items: readonly ReviewWeekItem[]): [string, Counts][] {
  const names = [...new Set(items.map(({ name }) => name))];
  return names.map((name): [string, Counts] => [name, sumOf(items.filter((item) => item.name === name))]).toSorted(([, a], [, b]) => b.reviewed - a.reviewed);
}

/** Name, how often it was right, partly right, wrong and useful. */
export function figureRow([name, counts]: [string, Counts]): string[] {
  const all = judged(counts);
  return [name, all === 0 ? "–" : `${counts.accurate} of ${all}`, String(counts.partly), String(counts.wrong), `${counts.useful} of ${counts.reviewed}`];
}

/** The share of right verdicts in each week, a series for each of the most reviewed names; null for weeks in which nobody judged one. */
export function rightShares(figures: ReviewFigures, group: Group): ChartSeries[] {
  return byName(figures[group])
    .slice(0, MOST_SERIES)
    .map(([name]) => ({
      name,
      values: figures.weeks.map(({ first_day: day }) => {
        const week = figures[group].find((item) => item.name === name && item.first_day === day);
        return week && judged(week) > 0 ? week.accurate / judged(week) : null;
      }),
    }));
}

const ACCURACIES = [
  { name: "Accurate", of: "accurate", color: "success-main" },
  { name: "Partly accurate", of: "partly", color: "warning-main" },
  { name: "Wrong", of: "wrong", color: "error-main" },
] as const;

/** The number of judged verdicts in each week, by accuracy. */
export function accuracyCounts({ weeks, total }: ReviewFigures): ChartSeries[] {
  const byDay = new Map(total.map((week) => [week.first_day, week]));
  return ACCURACIES.map(({ name, of, color }) => ({ name, color, values: weeks.map(({ first_day: day }) => byDay.get(day)?.[of] ?? 0) }));
}
