/** The drawing of a chart by uPlot, loaded when a chart is first seen. Times are in UTC, colours those of the theme. */
import Box from "@mui/material/Box";
import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { ChartProps } from "./chart";
import { dashOf, isNumber, stacked, variableOf } from "./chart-data";
import { SANS } from "./text-styles";

interface PlotProps extends Required<Pick<ChartProps, "times" | "series" | "shape" | "format" | "height">> {
  step: number | undefined;
  max: number | undefined;
  increments: readonly number[] | undefined;
  /** Called with the index of the time under the pointer; null for none. */
  onPoint: (index: number | null) => void;
}

// Room for "12:34:56".
const LABEL_PX = 70;
const TICK_PX = 24;
const FONT = `12px ${SANS}`;
const HALF_HOUR = 1_800;

export default function Plot({ times, series, shape, format, height, step, max, increments, onPoint }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const root = place.current;
    if (!root) return;
    const color = (variable: string) => getComputedStyle(root).getPropertyValue(variable);
    const text = () => color("--mui-palette-text-secondary");
    const line = { stroke: () => color("--mui-palette-divider"), width: 1 };
    const axis = { stroke: text, font: FONT, grid: line, ticks: { show: false } };
    const isStack = shape === "stacks";
    // A bar reaches from the axis to its top: the tallest is drawn first, and the others over it.
    const drawn = (isStack ? stacked(series) : series).map(({ values }, index) => ({ values, index }));
    if (isStack) drawn.reverse();
    const [first, last] = [times[0] ?? 0, times.at(-1) ?? 0];
    // Half a bar on both sides; and a single time is in the middle.
    const margin = step !== undefined ? step / 2 : first === last ? HALF_HOUR : 0;
    const xRange: uPlot.Range.MinMax = [first - margin, last + margin];
    const plot = new uPlot(
      {
        width: Math.max(1, root.clientWidth),
        height,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), "UTC"),
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false }, points: { show: !isStack } },
        hooks: { setCursor: [(self) => onPoint(self.cursor.idx ?? null)] },
        scales: {
          x: { range: () => xRange },
          ...(isStack || step !== undefined ? { y: { range: (_: uPlot, __: number, highest: number): uPlot.Range.MinMax => [0, max ?? (highest > 0 ? highest * 1.08 : 1)] } } : {}),
        },
        axes: [
          {
            ...axis,
            size: 26,
            gap: 4,
            space: LABEL_PX,
            grid: { show: false },
            ...(step === undefined ? {} : { splits: ({ width }: uPlot) => everyNth(times, Math.max(1, Math.floor(width / LABEL_PX))) }),
            values: (_, splits, __, ___, increment) => splits.map((at, index) => timeLabel(at, splits[index - 1], step ?? increment)),
          },
          { ...axis, gap: 6, space: TICK_PX, ...(increments ? { incrs: [...increments] } : {}), size: (_, labels: string[] | null) => 16 + 7 * Math.max(1, ...(labels ?? []).map((label) => label.length)), values: (_, splits) => splits.map(format) },
        ],
        series: [
          {},
          ...drawn.map(({ index }): uPlot.Series => {
            const own = () => color(variableOf(series[index], index));
            if (isStack) return { stroke: () => color("--mui-palette-background-paper"), width: 1, fill: own, points: { show: false }, ...bars() };
            return { stroke: own, width: 1.75, dash: dashOf(index), points: { size: 5, fill: own } };
          }),
        ],
      },
      [[...times], ...drawn.map(({ values }) => [...values])],
      root,
    );
    const resized = new ResizeObserver(() => root.clientWidth > 0 && plot.setSize({ width: root.clientWidth, height }));
    resized.observe(root);
    const themed = new MutationObserver(() => plot.redraw(false));
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      resized.disconnect();
      themed.disconnect();
      plot.destroy();
    };
  }, [times, series, shape, format, height, step, max, increments, onPoint]);
  // uPlot's layers have a `z-index`, which must not lift them over the page's header.
  return <Box ref={place} sx={{ height, minWidth: 0, overflow: "hidden", isolation: "isolate", "& .u-cursor-x": { borderColor: "text.secondary" } }} />;
}

function bars(): Pick<uPlot.Series, "paths"> {
  const paths = uPlot.paths.bars?.({ size: [0.7, 48] });
  return paths ? { paths } : {};
}

/** At most `count` of the times, at equal distances, the last among them. */
function everyNth(times: readonly number[], count: number): number[] {
  const distance = Math.ceil(times.length / count);
  return times.filter((_, index) => (times.length - 1 - index) % distance === 0);
}

const DAY = 86_400;
const DATE = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

/** The label of a tick: the date where a day begins, and the time elsewhere. */
function timeLabel(at: number, before: number | undefined, increment: number): string {
  const moment = new Date(at * 1_000);
  if (increment >= DAY) return DATE.format(moment);
  const clock = moment.toISOString().slice(11, increment < 60 ? 19 : 16);
  return isNumber(before) && Math.floor(before / DAY) !== Math.floor(at / DAY) ? DATE.format(moment) : clock;
}
