/** A row of the incident list. The whole row is a link to the incident. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { memo } from "react";
import { Badge } from "@/components/badge";
import { formatCost, formatCount } from "@/components/format";
import { Highlighted } from "@/components/highlighted";
import { BareLink, LIST_ROW, ROW_LINK } from "@/components/links";
import { MONO, ONE_LINE } from "@/components/text-styles";
import { Elapsed, RelativeTime } from "@/components/times";
import { SEVERITY_BADGES, STATE_BADGES } from "@/presentation/incidents";
import { findingOf, StatusBadge } from "@/presentation/session-status";
import { CONFIDENCE_BADGES } from "@/presentation/verdict";
import type { IncidentItem } from "@/wire/types";
import type { IncidentColumn } from "./search";
import { INCIDENT_COLUMNS } from "./search";

/** The grid of a row: checkbox, severity, problem and the chosen columns; on a small screen severity and age above the problem. */
export function gridOf(columns: readonly IncidentColumn[]) {
  const widths = INCIDENT_COLUMNS.filter(({ id }) => columns.includes(id)).map(({ width }) => `${width}px`);
  return { xs: "1fr auto", md: `20px 104px minmax(220px, 1fr) ${widths.join(" ")}` };
}

interface IncidentRowProps {
  incident: IncidentItem;
  columns: readonly IncidentColumn[];
  /** The words of the search. */
  words: readonly string[];
  selected: boolean;
  onSelect: (id: string, selected: boolean) => void;
}

export const IncidentRow = memo(function IncidentRow({ incident, columns, words, selected, onSelect }: IncidentRowProps) {
  return (
    <Box component="li" data-incident={incident.id} sx={{ ...LIST_ROW, gridTemplateColumns: gridOf(columns) }}>
      <Box
        component="input"
        type="checkbox"
        aria-label={`Select ${incident.title}`}
        checked={selected}
        onChange={(event: React.ChangeEvent<HTMLInputElement>) => onSelect(incident.id, event.target.checked)}
        sx={{ display: { xs: "none", md: "block" }, position: "relative", zIndex: 1, m: 0, width: 16, height: 16, accentColor: "var(--mui-palette-primary-main)" }}
      />
      <Typography variant="body2" component="div" sx={{ gridRow: { xs: 1, md: "auto" } }}>
        <Badge badge={SEVERITY_BADGES[incident.severity]} />
      </Typography>
      <Box sx={{ minWidth: 0, gridColumn: { xs: "1 / -1", md: "auto" }, gridRow: { xs: 2, md: "auto" } }}>
        <Typography component="div" sx={{ display: "flex", alignItems: "baseline", gap: 1, fontSize: "0.92rem" }}>
          <BareLink to="/incidents/$incidentId" params={{ incidentId: incident.id }} data-row-link sx={ROW_LINK}>
            <Box component="span" sx={{ ...ONE_LINE, display: "block" }}>
              <Highlighted text={incident.title} words={words} />
            </Box>
          </BareLink>
          {!columns.includes("source") && (
            <Box component="span" sx={{ ...ONE_LINE, flexShrink: 0, maxWidth: "40%", fontFamily: MONO, fontSize: "0.75rem", color: "text.secondary" }}>
              {incident.source}
            </Box>
          )}
        </Typography>
        <Typography variant="body2" color="textSecondary" sx={ONE_LINE}>
          {incident.verdict_object !== null && (
            <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.78rem", color: "text.primary", mr: 1 }}>
              {incident.verdict_object}
            </Box>
          )}
          {findingOf(incident) ?? noSummaryText(incident)}
        </Typography>
      </Box>
      {columns.map((id) => (
        <Typography key={id} variant="body2" component="div" color="textSecondary" sx={CELL[id] ?? HIDDEN_IF_SMALL}>
          <Cell id={id} incident={incident} />
        </Typography>
      ))}
    </Box>
  );
});

const HIDDEN_IF_SMALL = { ...ONE_LINE, display: { xs: "none", md: "block" } } as const;
/** The columns that a small screen shows too. */
const CELL: { [Id in IncidentColumn]?: object } = {
  verdict: { gridColumn: { xs: "1 / -1", md: "auto" }, display: { xs: "flex", md: "block" }, columnGap: 1, whiteSpace: "nowrap" },
  age: { textAlign: "right", whiteSpace: "nowrap", gridRow: { xs: 1, md: "auto" }, gridColumn: { xs: 2, md: "auto" }, position: "relative", zIndex: 1 },
};

function Cell({ id, incident }: { id: IncidentColumn; incident: IncidentItem }) {
  switch (id) {
    case "verdict":
      return <Outcome incident={incident} />;
    case "alerts":
      return (
        <span title={`${incident.firing} of ${incident.alerts} alerts fire; received ${incident.deliveries} times`}>
          {formatCount(incident.firing)} of {formatCount(incident.alerts)} firing
        </span>
      );
    case "source":
      return incident.source;
    case "route":
      return incident.route;
    case "cost":
      return ((incident.cost.usd ?? 0) > 0 || incident.cost.unpriced_calls > 0) && <span title="What its investigations cost">{formatCost(incident.cost)}</span>;
    case "state":
      return incident.resolved_at ? <Badge badge={STATE_BADGES.resolved} label="over" /> : <Badge badge={STATE_BADGES.open} label="open" />;
    case "age":
      return incident.resolved_at ? <RelativeTime at={incident.opened_at} /> : <Elapsed since={incident.opened_at} until={null} />;
  }
}

/** The status of the last investigation. */
function Outcome({ incident }: { incident: IncidentItem }) {
  const { last_session_status: status, verdict_outcome: outcome, verdict_confidence: confidence } = incident;
  if (status === null) return null;
  return (
    <>
      <span>
        <StatusBadge session={{ ...incident, status, verdict: outcome && { outcome, confidence } }} />
      </span>
      {outcome !== null && confidence !== null && <Box sx={{ fontSize: "0.78rem", pl: { md: "22px" }, alignSelf: "center" }}>{CONFIDENCE_BADGES[confidence].label.toLowerCase()}</Box>}
    </>
  );
}

function noSummaryText(incident: IncidentItem): string {
  switch (incident.last_session_status) {
    case null:
      return "not investigated";
    case "pending":
      return "waits for its investigation";
    case "in_progress":
    case "waiting":
      return "is being investigated";
    default:
      return "the investigation has no summary";
  }
}
