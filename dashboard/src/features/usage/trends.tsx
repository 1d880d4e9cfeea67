/** Charts of the usage page: usage of each day by model and alert type, and of each week the verdicts and the time they took. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { usageTrends } from "@/api/system";
import { Chart } from "@/components/chart";
import type { ChartSeries } from "@/components/chart-data";
import { formatCount, formatDollars, formatDuration, plural } from "@/components/format";
import { Section } from "@/components/section";
import { Loaded } from "@/components/states";
import { Toggles } from "@/components/toggles";
import type { DayUsageItem, Period, UsageTrends, WeekItem } from "@/wire/types";

type Measure = "cost_usd" | "tokens" | "calls";

const MEASURES: Record<Measure, string> = { cost_usd: "Cost", tokens: "Tokens", calls: "Calls" };

const DAY = 86_400;
const WEEK = 7 * DAY;
// From a second to a day.
const SECONDS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 43_200, DAY];
const HEIGHT_PX = 190;

export function Trends({ period }: { period: Period }) {
  return (
    <Loaded query={useQuery(usageTrends(period))} failure="The charts could not be loaded.">
      {(trends) => <Charts trends={trends} />}
    </Loaded>
  );
}

function Charts({ trends }: { trends: UsageTrends }) {
  const [chosen, setChosen] = useState<Measure | null>(null);
  // Local and recorded models cost nothing.
  const measure = chosen ?? (trends.by_model.some(({ cost_usd: cost }) => cost > 0) ? "cost_usd" : "tokens");
  const label = MEASURES[measure];
  const format = measure === "cost_usd" ? formatDollars : formatCount;
  const days = useMemo(() => daysOf(trends), [trends]);
  const models = useMemo(() => daySeries(trends.by_model, days, measure), [trends, days, measure]);
  const alertTypes = useMemo(() => daySeries(trends.by_alert_type, days, measure), [trends, days, measure]);
  const weeks = useMemo(() => trends.weeks.map(({ first_day: day }) => secondsOf(day)), [trends]);
  const seconds = useMemo(() => verdictTimes(trends.weeks), [trends]);
  const shares = useMemo(() => verdictShares(trends.weeks), [trends]);
  const daily = { times: days, shape: "stacks", format, formatTime: formatDay, height: HEIGHT_PX, step: DAY } as const;
  const weekly = { times: weeks, formatTime: formatWeek, height: HEIGHT_PX, step: WEEK } as const;
  const ended = trends.weeks.reduce((sum, week) => sum + week.fault + week.no_fault + week.inconclusive, 0);
  const without = trends.weeks.reduce((sum, week) => sum + week.no_verdict, 0);
  const choice = <Toggles label="Measure" options={MEASURES} value={measure} onValue={setChosen} sx={{ py: 0, fontSize: "0.78rem" }} />;
  return (
    <Box sx={{ display: "grid", gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 1fr) minmax(0, 1fr)" }, gap: 2, alignItems: "start" }}>
      {models.length > 0 && (
        <>
          <Section title={`${label} per day, by model`} actions={choice}>
            <Chart title={`${label} per day, by model`} series={models} {...daily} />
          </Section>
          <Section title={`${label} per day, by alert type`}>
            <Chart title={`${label} per day, by alert type`} series={alertTypes} {...daily} />
          </Section>
        </>
      )}
      {ended > 0 && (
        <>
          <Section title="Time to verdict, by week">
            <Chart title="Time to verdict, by week" series={seconds} shape="lines" format={formatSeconds} increments={SECONDS} {...weekly} />
          </Section>
          <Section title="Verdicts, by week">
            <Chart title="Verdicts, by week" series={shares} shape="stacks" format={formatShare} max={1} {...weekly} />
          </Section>
        </>
      )}
      <Typography variant="caption" color="textSecondary" sx={{ gridColumn: "1 / -1" }}>
        Days and weeks are in UTC; weeks begin on Monday.
        {ended > 0 && ` The last ${trends.weeks.length} weeks: ${plural(ended, "session")} with a verdict, ${without} without. Forks are not counted. Time to verdict is the time from the alert to the end of its session.`}
      </Typography>
    </Box>
  );
}

function secondsOf(day: string): number {
  return Date.parse(`${day}T00:00:00Z`) / 1_000;
}

/** Every day of the period, also those without usage. */
export function daysOf({ first_day: first, last_day: last }: Pick<UsageTrends, "first_day" | "last_day">): number[] {
  const [from, to] = [secondsOf(first), secondsOf(last)];
  return Array.from({ length: Math.round((to - from) / DAY) + 1 }, (_, index) => from + index * DAY);
}

// As many as a reader can distinguish in a bar; the last stands for all others.
const MOST_SERIES = 6;

/** A series for each name, the largest first; many small ones are added up. */
export function daySeries(items: readonly DayUsageItem[], days: readonly number[], measure: Measure): ChartSeries[] {
  const byName = new Map<string, Map<number, number>>();
  for (const item of items) {
    const own = byName.get(item.name) ?? new Map<number, number>();
    byName.set(item.name, own.set(secondsOf(item.day), item[measure]));
  }
  const total = (own: Map<number, number>) => [...own.values()].reduce((sum, value) => sum + value, 0);
  const series = [...byName].toSorted(([, a], [, b]) => total(b) - total(a)).map(([name, own]) => ({ name, values: days.map((day) => own.get(day) ?? 0) }));
  if (series.length <= MOST_SERIES) return series;
  const rest = series.slice(MOST_SERIES - 1);
  return [...series.slice(0, MOST_SERIES - 1), { name: `${rest.length} others`, values: days.map((_, index) => rest.reduce((sum, { values }) => sum + (values[index] ?? 0), 0)) }];
}

/** The median time to a verdict, and the time that nine of ten verdicts stayed within; null for weeks without a verdict. */
export function verdictTimes(weeks: readonly WeekItem[]): ChartSeries[] {
  return [
    { name: "Median", values: weeks.map((week) => week.median_seconds) },
    { name: "90th percentile", values: weeks.map((week) => week.p90_seconds) },
  ];
}

const OUTCOMES = [
  { name: "Fault", of: (week: WeekItem) => week.fault, color: "error-main" },
  { name: "Inconclusive", of: (week: WeekItem) => week.inconclusive, color: "warning-main" },
  { name: "No fault", of: (week: WeekItem) => week.no_fault, color: "success-main" },
] as const;

/** The share of each outcome in the verdicts of a week; null for weeks without a verdict. */
export function verdictShares(weeks: readonly WeekItem[]): ChartSeries[] {
  return OUTCOMES.map(({ name, of, color }) => ({
    name,
    color,
    values: weeks.map((week) => {
      const all = week.fault + week.no_fault + week.inconclusive;
      return all > 0 ? of(week) / all : null;
    }),
  }));
}

function formatDay(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().slice(0, 10);
}

function formatWeek(seconds: number): string {
  return `week of ${formatDay(seconds)}`;
}

function formatSeconds(seconds: number): string {
  return formatDuration(seconds * 1_000);
}

function formatShare(share: number): string {
  return `${Math.round(share * 100)} %`;
}
