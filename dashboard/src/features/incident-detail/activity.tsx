/** A chart of an incident over time: its alerts, the changes around it, its sessions and their verdicts. */
import Box from "@mui/material/Box";
import Link from "@mui/material/Link";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { BadgeStyle } from "@/components/badge";
import { Badge } from "@/components/badge";
import { formatClock, plural } from "@/components/format";
import { Section } from "@/components/section";
import { ONE_LINE } from "@/components/text-styles";
import { RelativeTime, useMinute } from "@/components/times";
import { CHANGE_BADGES } from "@/presentation/incidents";
import { statusLabel } from "@/presentation/session-status";
import { outcomeBadge } from "@/presentation/verdict";
import type { Activity, ChangeItem, IncidentSession, IncidentView } from "@/wire/types";

const HEIGHT = 104;
// The marks of changes extend below the bars, to the lane of the sessions.
const BARS = 80;
const LANE = { y: 90, height: 10 };
const SHOWN_CHANGES = 12;
const COLORS = {
  "& .ground": { stroke: "var(--mui-palette-divider)" },
  "& .firing": { fill: "var(--mui-palette-error-main)" },
  "& .resolved": { fill: "var(--mui-palette-success-main)" },
  "& .change": { stroke: "var(--mui-palette-info-main)" },
  "& .session": { fill: "var(--mui-palette-text-disabled)" },
  "& .bad": { fill: "var(--mui-palette-error-main)" },
  "& .warning": { fill: "var(--mui-palette-warning-main)" },
  "& .good": { fill: "var(--mui-palette-success-main)" },
  "& .neutral": { fill: "var(--mui-palette-text-secondary)" },
} as const;

export function ActivityView({ incident }: { incident: IncidentView }) {
  const chart = chartOf(incident.activity, incident.changes, incident, new Date(useMinute() + 60_000));
  return (
    <Section title="Over time">
      <Stack spacing={1.5}>
        <Box>
          <Typography variant="caption" color="textSecondary" component="div">
            Alerts received, up to {chart.most.toLocaleString()} in a bar
          </Typography>
          <Bars chart={chart} label={`${plural(incident.deliveries, "alert")} received, ${plural(incident.changes.length, "change")}, ${plural(incident.sessions.length, "session")}.`} />
          <Box aria-hidden sx={{ position: "relative", height: 20, mt: 0.5 }}>
            {chart.ticks.map(({ at, text }, index) => (
              <Typography key={index} variant="caption" color="textSecondary" sx={{ position: "absolute", whiteSpace: "nowrap", display: { xs: index % 2 === 0 ? "block" : "none", sm: "block" }, ...(index === 0 ? { left: 0 } : index === chart.ticks.length - 1 ? { right: 0 } : { left: `${at * 100}%`, transform: "translateX(-50%)" }) }}>
                {text}
              </Typography>
            ))}
          </Box>
          <Legend chart={chart} />
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
      {chart.sessions.map((session) => (
        <g key={session.id}>
          <title>{session.title}</title>
          <rect x={session.left * 1_000} width={session.width * 1_000} y={LANE.y} height={LANE.height} className="session" />
          {session.verdict && <rect x={(session.left + session.width) * 1_000 - 4} width={8} y={LANE.y - 3} height={LANE.height + 6} className={session.verdict} />}
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

const LEGEND = { firing: "Firing", resolved: "Resolved", change: "Change", session: "Session", verdict: "Verdict" } as const;

/** What the marks of the chart mean; only of those that it has. */
function Legend({ chart }: { chart: Chart }) {
  const shown = {
    firing: chart.bars.some((bar) => bar.firing > 0),
    resolved: chart.bars.some((bar) => bar.resolved > 0),
    change: chart.marks.length > 0,
    session: chart.sessions.length > 0,
    verdict: chart.sessions.some(({ verdict }) => verdict !== null),
  };
  return (
    <Box component="ul" aria-label="Marks of the chart" sx={{ display: "flex", flexWrap: "wrap", columnGap: 2, listStyle: "none", m: 0, p: 0, ...COLORS }}>
      {(Object.keys(LEGEND) as (keyof typeof LEGEND)[]).map(
        (mark) =>
          shown[mark] && (
            <Typography key={mark} component="li" variant="caption" color="textSecondary" sx={{ display: "flex", alignItems: "center", gap: 0.5 }}>
              <svg width={12} height={12} aria-hidden>
                {mark === "change" ? <line x1={6} x2={6} y1={0} y2={12} className="change" strokeWidth={2} strokeDasharray="4 3" /> : <rect x={mark === "verdict" ? 3 : 0} width={mark === "verdict" ? 6 : 12} y={mark === "session" ? 2 : 0} height={mark === "session" ? 8 : 12} className={mark === "verdict" ? "neutral" : mark} />}
              </svg>
              {LEGEND[mark]}
            </Typography>
          ),
      )}
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

interface SessionMark {
  id: string;
  left: number;
  width: number;
  /** The tone of its verdict; null if it has none. */
  verdict: BadgeStyle["tone"] | null;
  title: string;
}

interface Chart {
  begin: Date;
  end: Date;
  /** Times on the axis, at even distances. */
  ticks: { at: number; text: string }[];
  sessions: SessionMark[];
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
  sessions: readonly ChartSession[];
}

type ChartSession = Pick<IncidentSession, "id" | "status" | "verdict" | "analysis_is_partial" | "waiting_for_model" | "started_at" | "completed_at">;

const TICKS = [0, 0.25, 0.5, 0.75, 1] as const;
const DAY_MS = 86_400_000;

/** A time of the chart, with the date on a chart of more than a day. */
function timeText(time: number, span: number): string {
  const at = new Date(time);
  return span > DAY_MS ? `${at.toLocaleDateString([], { day: "numeric", month: "short" })}, ${formatClock(at)}` : formatClock(at);
}

export function chartOf(activity: Activity, changes: ChangeItem[], incident: Span, now: Date): Chart {
  const width = activity.bar_seconds * 1_000;
  const bars = activity.bars.map((bar) => ({ ...bar, time: Date.parse(bar.at) }));
  const changeTimes = changes.map((change) => Date.parse(change.at));
  const begin = Math.min(Date.parse(incident.opened_at), ...bars.map((bar) => bar.time), ...changeTimes);
  const until = incident.resolved_at === null ? now.getTime() : Date.parse(incident.resolved_at);
  const begun = incident.sessions.flatMap((session) => (session.started_at === null ? [] : [{ ...session, from: Date.parse(session.started_at), to: session.completed_at === null ? now.getTime() : Date.parse(session.completed_at) }]));
  const end = Math.max(until, begin + width, ...begun.map(({ to }) => to), ...bars.map((bar) => bar.time + width), ...changeTimes);
  const position = (time: number) => (time - begin) / (end - begin);
  const most = Math.max(1, ...bars.map((bar) => bar.firing + bar.resolved));
  return {
    begin: new Date(begin),
    end: new Date(end),
    ticks: TICKS.map((at) => ({ at, text: timeText(begin + at * (end - begin), end - begin) })),
    most,
    sessions: begun.map((session) => ({
      id: session.id,
      left: Math.min(Math.max(position(session.from), 0), 1 - NARROWEST),
      width: Math.max((session.to - session.from) / (end - begin), NARROWEST),
      verdict: session.verdict && outcomeBadge(session.verdict).tone,
      title: `Session: ${statusLabel(session)}`,
    })),
    bars: bars.map((bar) => ({
      left: Math.min(position(bar.time), 1 - NARROWEST),
      width: Math.min(Math.max(width / (end - begin), NARROWEST), WIDEST),
      firing: bar.firing / most,
      resolved: bar.resolved / most,
      title: `${timeText(bar.time, end - begin)}: ${bar.firing} firing, ${bar.resolved} resolved`,
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
