/** A chart of an incident over time: deliveries of its alerts, and changes around it. */
import Box from "@mui/material/Box";
import Link from "@mui/material/Link";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { Badge } from "@/components/badge";
import { formatClock, plural } from "@/components/format";
import { Section } from "@/components/section";
import { ONE_LINE } from "@/components/text-styles";
import { RelativeTime, useMinute } from "@/components/times";
import { CHANGE_BADGES } from "@/presentation/incidents";
import type { Activity, ChangeItem, IncidentView } from "@/wire/types";

const HEIGHT = 96;
// The marks of changes extend below the bars.
const BARS = 80;
const SHOWN_CHANGES = 12;
const COLORS = {
  "& .ground": { stroke: "var(--mui-palette-divider)" },
  "& .firing": { fill: "var(--mui-palette-error-main)" },
  "& .resolved": { fill: "var(--mui-palette-success-main)" },
  "& .change": { stroke: "var(--mui-palette-info-main)" },
} as const;

export function ActivityView({ incident }: { incident: IncidentView }) {
  const chart = chartOf(incident.activity, incident.changes, incident, new Date(useMinute() + 60_000));
  return (
    <Section title="Over time">
      <Stack spacing={1.5}>
        <Box>
          <Bars chart={chart} label={`The alerts of this incident were received ${incident.deliveries} times; ${plural(incident.changes.length, "change")} around it.`} />
          <Stack direction="row" sx={{ justifyContent: "space-between" }}>
            <Typography variant="caption" color="textSecondary">
              {formatClock(chart.begin)}
            </Typography>
            <Typography variant="caption" color="textSecondary">
              up to {plural(chart.most, "message")} a bar
            </Typography>
            <Typography variant="caption" color="textSecondary">
              {formatClock(chart.end)}
            </Typography>
          </Stack>
        </Box>
        {incident.changes.length > 0 && <Changes changes={incident.changes} />}
      </Stack>
    </Section>
  );
}

function Bars({ chart, label }: { chart: Chart; label: string }) {
  return (
    <Box component="svg" viewBox={`0 0 1000 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label} sx={{ display: "block", width: "100%", height: HEIGHT, ...COLORS }}>
      <line x1={0} x2={1000} y1={BARS} y2={BARS} className="ground" strokeWidth={1} vectorEffect="non-scaling-stroke" />
      {chart.bars.map((bar) => (
        <g key={bar.left}>
          <title>{bar.title}</title>
          <rect x={bar.left * 1_000} width={bar.width * 900} y={BARS * (1 - bar.firing)} height={BARS * bar.firing} className="firing" />
          <rect x={bar.left * 1_000} width={bar.width * 900} y={BARS * (1 - bar.firing - bar.resolved)} height={BARS * bar.resolved} className="resolved" />
        </g>
      ))}
      {chart.marks.map((mark) => (
        <g key={mark.at}>
          <title>{mark.changes.map((change) => change.title).join("\n")}</title>
          <line x1={mark.at * 1_000} x2={mark.at * 1_000} y1={0} y2={HEIGHT} className="change" strokeWidth={2} strokeDasharray="4 3" vectorEffect="non-scaling-stroke" />
        </g>
      ))}
    </Box>
  );
}

function Changes({ changes }: { changes: ChangeItem[] }) {
  const hidden = changes.length - SHOWN_CHANGES;
  return (
    <Box>
      <Typography variant="h3" sx={{ mb: 0.5 }}>
        Changes around this time
      </Typography>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {changes.slice(0, SHOWN_CHANGES).map((change) => (
          <Typography key={change.id} component="li" variant="body2" sx={{ display: "flex", gap: 1.5, alignItems: "center", py: 0.25 }}>
            <Badge badge={CHANGE_BADGES[change.outcome]} />
            <Box component="span" sx={{ ...ONE_LINE, flex: 1 }} title={change.title}>
              {change.link ? (
                <Link href={change.link} target="_blank" rel="noreferrer">
                  {change.title}
                </Link>
              ) : (
                change.title
              )}
            </Box>
            <Box component="span" sx={{ color: "text.secondary", whiteSpace: "nowrap" }}>
              {change.source}, <RelativeTime at={change.at} />
            </Box>
          </Typography>
        ))}
      </Box>
      {hidden > 0 && (
        <Typography variant="body2" color="textSecondary">
          {plural(hidden, "older change")} on the chart.
        </Typography>
      )}
    </Box>
  );
}

interface Bar {
  /** Between 0 and 1, from the left. */
  left: number;
  width: number;
  /** Between 0 and 1, from the bottom. */
  firing: number;
  resolved: number;
  title: string;
}

interface Mark {
  at: number;
  changes: ChangeItem[];
}

interface Chart {
  begin: Date;
  end: Date;
  /** The number of deliveries in the highest bar. */
  most: number;
  bars: Bar[];
  /** Changes that would overlap share a mark. */
  marks: Mark[];
}

// Narrower bars could not be seen or pointed at.
const NARROWEST = 0.006;
// An incident of a minute has a single bar, which would fill the chart.
const WIDEST = 0.03;
// Closer marks are merged.
const MERGED_WITHIN = 0.02;

interface Span {
  opened_at: string;
  resolved_at: string | null;
}

export function chartOf(activity: Activity, changes: ChangeItem[], incident: Span, now: Date): Chart {
  const width = activity.bar_seconds * 1_000;
  const bars = activity.bars.map((bar) => ({ ...bar, time: Date.parse(bar.at) }));
  const changeTimes = changes.map((change) => Date.parse(change.at));
  const begin = Math.min(Date.parse(incident.opened_at), ...bars.map((bar) => bar.time), ...changeTimes);
  const until = incident.resolved_at === null ? now.getTime() : Date.parse(incident.resolved_at);
  const end = Math.max(until, begin + width, ...bars.map((bar) => bar.time + width), ...changeTimes);
  const position = (time: number) => (time - begin) / (end - begin);
  const most = Math.max(1, ...bars.map((bar) => bar.firing + bar.resolved));
  return {
    begin: new Date(begin),
    end: new Date(end),
    most,
    bars: bars.map((bar) => ({
      left: Math.min(position(bar.time), 1 - NARROWEST),
      width: Math.min(Math.max(width / (end - begin), NARROWEST), WIDEST),
      firing: bar.firing / most,
      resolved: bar.resolved / most,
      title: `${new Date(bar.time).toISOString().slice(11, 16)} UTC: ${bar.firing} firing, ${bar.resolved} resolved`,
    })),
    marks: mergeMarks(changes.map((change) => ({ at: position(Date.parse(change.at)), changes: [change] }))),
  };
}

function mergeMarks(marks: Mark[]): Mark[] {
  const merged: Mark[] = [];
  for (const mark of marks.toSorted((a, b) => a.at - b.at)) {
    const last = merged.at(-1);
    if (last && mark.at - last.at < MERGED_WITHIN) last.changes.push(...mark.changes);
    else merged.push({ ...mark });
  }
  return merged;
}
