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

export const COLUMNS = { xs: "1fr auto", md: "104px minmax(0, 1fr) 150px 110px 84px 84px" };

const NO_WORDS: readonly string[] = [];

export const IncidentRow = memo(function IncidentRow({ incident, words = NO_WORDS }: { incident: IncidentItem; words?: readonly string[] }) {
  return (
    <Box component="li" sx={{ ...LIST_ROW, gridTemplateColumns: COLUMNS }}>
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
          <Box component="span" sx={{ ...ONE_LINE, flexShrink: 0, maxWidth: "40%", fontFamily: MONO, fontSize: "0.75rem", color: "text.secondary" }}>
            {incident.source}
          </Box>
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
      <Typography variant="body2" component="div" color="textSecondary" sx={{ gridColumn: { xs: "1 / -1", md: "auto" }, display: { xs: "flex", md: "block" }, columnGap: 1 }}>
        <Outcome incident={incident} />
      </Typography>
      <Cell>
        <span title={`${incident.firing} of ${incident.alerts} alerts firing; received ${incident.deliveries} times`}>
          {formatCount(incident.firing)} of {formatCount(incident.alerts)} firing
        </span>
        {((incident.cost.usd ?? 0) > 0 || incident.cost.unpriced_calls > 0) && (
          <Box sx={{ fontSize: "0.78rem" }} title="What its investigations cost">
            {formatCost(incident.cost)}
          </Box>
        )}
      </Cell>
      <Cell>{incident.resolved_at ? <Badge badge={STATE_BADGES.resolved} label="over" /> : <Badge badge={STATE_BADGES.open} label="open" />}</Cell>
      <Typography variant="body2" component="div" color="textSecondary" sx={{ textAlign: "right", whiteSpace: "nowrap", gridRow: { xs: 1, md: "auto" }, gridColumn: { xs: 2, md: "auto" }, position: "relative", zIndex: 1 }}>
        {incident.resolved_at ? <RelativeTime at={incident.opened_at} /> : <Elapsed since={incident.opened_at} until={null} />}
      </Typography>
    </Box>
  );
});

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

function Cell({ children }: { children: React.ReactNode }) {
  return (
    <Typography variant="body2" component="div" color="textSecondary" sx={{ display: { xs: "none", md: "block" }, whiteSpace: "nowrap" }}>
      {children}
    </Typography>
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
