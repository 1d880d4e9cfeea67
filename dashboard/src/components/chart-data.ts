/** The figures of a chart: stacks, summaries, and how a series is distinguished from the others. */
import { plural } from "./format";

export interface ChartSeries {
  name: string;
  /** One for each time: null for none, so that a line has a gap; undefined if another series alone has a value then. */
  values: readonly (number | null | undefined)[];
  /** A colour of the palette; by default one for each place in the list. */
  color?: ChartColor;
}

// Each has a contrast of at least 3 to the backgrounds, in both schemes.
const COLORS = ["primary-main", "warning-main", "success-main", "code-number", "error-main", "text-secondary"] as const;
type ChartColor = (typeof COLORS)[number];

// Lines differ in more than their colour, for people who do not see it.
const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [14, 4]];

/** The CSS variable with the colour of a series. */
export function variableOf(series: ChartSeries | undefined, index: number): string {
  return `--mui-palette-${series?.color ?? COLORS[index % COLORS.length] ?? COLORS[0]}`;
}

/** The dash pattern of a line: another one when the colours begin again. */
export function dashOf(index: number): number[] {
  return [...(DASHES[(index + Math.floor(index / COLORS.length)) % DASHES.length] ?? [])];
}

export function isNumber(value: number | null | undefined): value is number {
  return value !== null && value !== undefined;
}

/** Each series on top of those before it; null where they are nothing together. */
export function stacked(series: readonly ChartSeries[]): ChartSeries[] {
  const heights: number[] = [];
  return series.map((one) => ({
    ...one,
    values: one.values.map((value, index) => {
      const height = (heights[index] ?? 0) + (value ?? 0);
      heights[index] = height;
      return height > 0 ? height : null;
    }),
  }));
}

/** A sentence for people who do not see the chart; null if it has no values. */
export function chartSummary(title: string, times: readonly number[], series: readonly ChartSeries[], format: (value: number) => string, formatTime: (seconds: number) => string): string | null {
  const [first, last] = [times[0], times.at(-1)];
  let [lowest, highest] = [Infinity, -Infinity];
  for (const value of series.flatMap(({ values }) => values).filter(isNumber)) {
    lowest = Math.min(lowest, value);
    highest = Math.max(highest, value);
  }
  if (first === undefined || last === undefined || lowest > highest) return null;
  const span = first === last ? formatTime(first) : `${formatTime(first)} to ${formatTime(last)}`;
  return `${title}: ${plural(series.length, "series", "series")}, ${span}, lowest ${format(lowest)}, highest ${format(highest)}.`;
}
