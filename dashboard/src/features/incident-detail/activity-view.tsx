/** The incident over time: how often its alerts were heard of, and what was changed around it. */
import Box from "@mui/material/Box";
import Link from "@mui/material/Link";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { Badge } from "@/components/badge";
import { formatClock, plural } from "@/components/format";
import { useMinute } from "@/components/now";
import { Section } from "@/components/section";
import { ONE_LINE } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import { CHANGE_FACES } from "@/presentation/incidents";
import type { ChangeItem, IncidentView } from "@/wire/types";
import type { Chart } from "./activity-chart";
import { chartOf } from "./activity-chart";

const HEIGHT = 96;
// Below them stand the marks of the changes.
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
          <Bars chart={chart} told={described(incident)} />
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

function described(incident: IncidentView): string {
  return `Alerts of this incident were heard of ${incident.deliveries} times; ${plural(incident.changes.length, "change")} around it.`;
}

function Bars({ chart, told }: { chart: Chart; told: string }) {
  return (
    <Box component="svg" viewBox={`0 0 1000 ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={told} sx={{ display: "block", width: "100%", height: HEIGHT, ...COLORS }}>
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
        What was changed around it
      </Typography>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {changes.slice(0, SHOWN_CHANGES).map((change) => (
          <Typography key={change.id} component="li" variant="body2" sx={{ display: "flex", gap: 1.5, alignItems: "center", py: 0.25 }}>
            <Badge face={CHANGE_FACES[change.outcome]} />
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
