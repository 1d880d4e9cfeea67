/** A small chart of the series in a tool's result. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { useMemo } from "react";
import { Chart } from "@/components/chart";
import { plural } from "@/components/format";
import { MONO } from "@/components/text-styles";
import { metricTable } from "./metric-series";

const HEIGHT_PX = 110;

/** Renders nothing for a text without series. */
export function MetricChart({ text }: { text: string }) {
  const table = useMemo(() => metricTable(text), [text]);
  if (!table) return null;
  const notes = [
    "times in UTC",
    table.omitted > 0 && `${plural(table.omitted, "more series", "more series")} in the result`,
    table.thinnedFrom !== null && `${table.thinnedFrom} times, thinned to their lowest and highest values`,
  ];
  return (
    <Box sx={{ border: 1, borderColor: "divider", borderRadius: 1, bgcolor: "background.paper", p: 1, flexShrink: 0, minWidth: 0 }}>
      {table.series.length > 1 && (
        <Typography variant="caption" component="div" sx={{ fontFamily: MONO, overflowWrap: "anywhere" }}>
          {table.title}
        </Typography>
      )}
      <Chart title={table.title} times={table.times} series={table.series} shape="lines" format={formatNumber} formatTime={formatTime} height={HEIGHT_PX} note={notes.filter((note) => note !== false).join("; ")} />
    </Box>
  );
}

const PREFIXES = ["", "k", "M", "G", "T", "P"];

/** "1.5 G", "0.00025": four digits are more than a small chart can show. */
export function formatNumber(value: number): string {
  const power = value === 0 ? 0 : Math.min(PREFIXES.length - 1, Math.max(0, Math.floor(Math.log10(Math.abs(value)) / 3)));
  return [Number((value / 1_000 ** power).toPrecision(4)), PREFIXES[power]].join(" ").trimEnd();
}

function formatTime(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace("T", " ").slice(0, 19);
}
