/** A chart of figures over time, with the figures as a table one click away. The script that draws it is loaded when it is first seen. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Typography from "@mui/material/Typography";
import { Table2 } from "lucide-react";
import type { RefCallback } from "react";
import { lazy, Suspense, useCallback, useId, useState } from "react";
import { VisuallyHidden } from "./badge";
import type { ChartSeries } from "./chart-data";
import { chartSummary, dashOf, isNumber, variableOf } from "./chart-data";
import { ONE_LINE } from "./text-styles";

export interface ChartProps {
  title: string;
  /** Seconds since 1970, ascending. */
  times: readonly number[];
  series: readonly ChartSeries[];
  /** Lines, or bars of which each series is a part. */
  shape: "lines" | "stacks";
  /** Keep these functions and lists from one rendering to the next: a chart whose properties change is drawn anew. */
  format: (value: number) => string;
  formatTime: (seconds: number) => string;
  height: number;
  /** The seconds from one time to the next, if they are days or weeks. */
  step?: number;
  /** The upper end of the axis. */
  max?: number;
  /** The distances between ticks to choose from; by default 1, 2 and 5 and their tenfolds. */
  increments?: readonly number[];
  note?: string;
}

const Plot = lazy(() => import("./chart-plot").catch(() => ({ default: NotLoaded })));

export function Chart({ title, times, series, shape, format, formatTime, height, step, max, increments, note }: ChartProps) {
  const [seen, place] = useSeen();
  const [point, setPoint] = useState<number | null>(null);
  const [asTable, setAsTable] = useState(false);
  const table = useId();
  const summary = chartSummary(title, times, series, format, formatTime);
  if (summary === null) return <Typography color="textSecondary">No values in this time.</Typography>;
  return (
    <Box component="figure" aria-label={title} sx={{ m: 0, minWidth: 0 }}>
      <Box ref={place} role="img" aria-label={summary} sx={{ position: "relative", height, "@media print": { breakInside: "avoid" } }}>
        {seen && (
          <Suspense>
            <Plot {...{ times, series, shape, format, height, step, max, increments }} onPoint={setPoint} />
          </Suspense>
        )}
        {point !== null && <Readout {...{ times, series, format, formatTime, point }} />}
      </Box>
      <Box sx={{ display: "flex", flexWrap: "wrap", alignItems: "baseline", columnGap: 2, rowGap: 0.25, fontSize: "0.78rem", color: "text.secondary" }}>
        <Box component="ul" aria-label="Legend" sx={{ display: "contents", listStyle: "none" }}>
          {series.map((one, index) => (
            <Box component="li" key={index} sx={{ display: "flex", alignItems: "center", gap: 0.75, minWidth: 0, overflowWrap: "anywhere" }}>
              <Swatch series={one} index={index} shape={shape} />
              {one.name}
            </Box>
          ))}
        </Box>
        {note}
        <Button size="small" color="inherit" startIcon={<Table2 size={14} />} aria-expanded={asTable} aria-controls={table} onClick={() => setAsTable(!asTable)} sx={{ ml: "auto", py: 0, fontSize: "inherit", "@media print": { display: "none" } }}>
          {asTable ? "Hide table" : "Show table"}
          <VisuallyHidden>{`: ${title}`}</VisuallyHidden>
        </Button>
      </Box>
      <div id={table}>{asTable && <Numbers {...{ title, times, series, format, formatTime }} />}</div>
    </Box>
  );
}

// Over the chart, so that nothing on the page moves with the pointer.
const READOUT = { position: "absolute", top: 0, zIndex: 1, maxWidth: "60%", px: 1, py: 0.5, pointerEvents: "none", bgcolor: "background.paper", border: 1, borderColor: "divider", borderRadius: 1, boxShadow: 2, fontSize: "0.75rem", lineHeight: 1.4 } as const;

/** The figures of the time under the pointer, on the other side of the chart. */
function Readout({ times, series, format, formatTime, point }: Pick<ChartProps, "times" | "series" | "format" | "formatTime"> & { point: number }) {
  return (
    <Box sx={{ ...READOUT, ...(point < times.length / 2 ? { right: 0 } : { left: 0 }) }}>
      <strong>{formatTime(times[point] ?? 0)}</strong>
      {series.map(({ name, values }, index) => {
        const value = values[point];
        return isNumber(value) ? (
          <Box key={index} sx={{ display: "flex", gap: 1.5, fontVariantNumeric: "tabular-nums" }}>
            <Box component="span" sx={{ ...ONE_LINE, flex: 1 }}>
              {name}
            </Box>
            {format(value)}
          </Box>
        ) : null;
      })}
    </Box>
  );
}

function Swatch({ series, index, shape }: { series: ChartSeries; index: number; shape: ChartProps["shape"] }) {
  const color = `var(${variableOf(series, index)})`;
  return (
    <svg width={shape === "lines" ? 22 : 11} height={11} aria-hidden style={{ flexShrink: 0 }}>
      {shape === "lines" ? <line x1={0} x2={22} y1={5.5} y2={5.5} stroke={color} strokeWidth={2} strokeDasharray={dashOf(index).join(" ")} /> : <rect width={11} height={11} rx={2} fill={color} />}
    </svg>
  );
}

const TABLE = {
  borderCollapse: "collapse",
  fontSize: "0.8rem",
  fontVariantNumeric: "tabular-nums",
  "& th, & td": { px: 1, py: 0.25, textAlign: "right", whiteSpace: "nowrap" },
  "& th:first-of-type": { textAlign: "left" },
  "& thead th": { position: "sticky", top: 0, bgcolor: "background.paper", verticalAlign: "bottom" },
  "& tbody th": { fontWeight: 400 },
  "& tbody tr": { borderTop: 1, borderColor: "divider" },
} as const;

function Numbers({ title, times, series, format, formatTime }: Pick<ChartProps, "title" | "times" | "series" | "format" | "formatTime">) {
  return (
    // Focusable, so that it can be scrolled by keyboard.
    <Box tabIndex={0} role="region" aria-label={`Table: ${title}`} sx={{ mt: 0.5, maxHeight: 320, overflow: "auto", border: 1, borderColor: "divider", borderRadius: 1, bgcolor: "background.paper", "@media print": { maxHeight: "none" } }}>
      <Box component="table" sx={TABLE}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ name }, index) => (
              <th key={index} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((at, row) => (
            <tr key={at}>
              <th scope="row">{formatTime(at)}</th>
              {series.map(({ values }, index) => {
                const value = values[row];
                return <td key={index}>{isNumber(value) ? format(value) : "–"}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </Box>
    </Box>
  );
}

function NotLoaded() {
  return <Typography color="textSecondary">The chart could not be loaded. The table has its figures.</Typography>;
}

/** Whether the element that is given the ref has been near the visible part of the page. It may be added later: there is none without values. */
function useSeen(): [boolean, RefCallback<Element>] {
  const [seen, setSeen] = useState(false);
  const watch = useCallback((element: Element | null) => {
    if (element === null) return undefined;
    const observer = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && setSeen(true), { rootMargin: "200px" });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [seen, watch];
}
