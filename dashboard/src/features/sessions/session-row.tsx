/** One session in the list: recognisable in a glance, a link as a whole. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { memo } from "react";
import { Badge } from "@/components/badge";
import { MONO, ONE_LINE } from "@/components/text-styles";
import { BareLink } from "@/components/links";
import { LIST_ROW, ROW_LINK } from "@/components/list-row";
import { formatCost, formatCount } from "@/components/format";
import { Elapsed, RelativeTime } from "@/components/times";
import { partialNotice } from "@/presentation/partial-analysis";
import { hasEnded, reasonBeside, SESSION_FACES } from "@/presentation/statuses";
import { CONFIDENCE_FACES, OUTCOME_FACES } from "@/presentation/verdict";
import type { SessionListItem } from "@/wire/types";

export const COLUMNS = { xs: "1fr auto", md: "124px minmax(0, 1fr) 170px 64px 80px 84px" };

export const SessionRow = memo(function SessionRow({ session }: { session: SessionListItem }) {
  return (
    <Box component="li" sx={{ ...LIST_ROW, gridTemplateColumns: COLUMNS }}>
      <Typography variant="body2" component="div" sx={{ gridRow: { xs: 1, md: "auto" } }}>
        <Badge face={SESSION_FACES[session.status]} />
      </Typography>
      <Box sx={{ minWidth: 0, gridColumn: { xs: "1 / -1", md: "auto" }, gridRow: { xs: 2, md: "auto" } }}>
        <Typography component="div" sx={{ display: "flex", alignItems: "baseline", gap: 1, fontSize: "0.92rem" }}>
          <BareLink to="/sessions/$sessionId" params={{ sessionId: session.id }} data-row-link sx={ROW_LINK}>
            <Box component="span" sx={{ ...ONE_LINE, display: "block" }}>
              {session.title}
            </Box>
          </BareLink>
          {session.title !== session.alert_type && (
            <Box component="span" sx={{ ...ONE_LINE, display: { xs: "none", sm: "block" }, flexShrink: 0, maxWidth: "40%", fontFamily: MONO, fontSize: "0.75rem", color: "text.secondary" }}>
              {session.alert_type}
            </Box>
          )}
        </Typography>
        <Typography variant="body2" color="textSecondary" sx={ONE_LINE}>
          {secondLine(session)}
        </Typography>
      </Box>
      <Typography variant="body2" component="div" color="textSecondary" sx={{ minWidth: 0, display: { xs: hasEnded(session.status) ? "none" : "block", md: "block" }, gridColumn: { xs: "1 / -1", md: "auto" } }}>
        {hasEnded(session.status) ? <Came session={session} /> : <Progress session={session} />}
      </Typography>
      <Figure>{session.total_tokens > 0 && <span title={[`${session.total_tokens.toLocaleString()} tokens`, formatCost(session.cost)].filter((part) => part !== null).join(", ")}>{formatCount(session.total_tokens)}</span>}</Figure>
      <Figure>{session.started_at && <Elapsed since={session.started_at} until={session.completed_at} />}</Figure>
      <Typography variant="body2" component="div" color="textSecondary" sx={{ textAlign: "right", whiteSpace: "nowrap", gridRow: { xs: 1, md: "auto" }, gridColumn: { xs: 2, md: "auto" }, position: "relative", zIndex: 1 }}>
        <RelativeTime at={session.created_at} />
      </Typography>
    </Box>
  );
});

/** What it came to, as far as it came to anything, and by whom it was asked for. */
function Came({ session: { verdict, author } }: { session: SessionListItem }) {
  return (
    <>
      {verdict && (
        <span title={`${CONFIDENCE_FACES[verdict.confidence].label}: ${verdict.mechanism}`}>
          <Badge face={OUTCOME_FACES[verdict.outcome]} />
        </span>
      )}
      <Box sx={ONE_LINE}>{author}</Box>
    </>
  );
}

function Figure({ children }: { children: React.ReactNode }) {
  return (
    <Typography variant="body2" component="div" color="textSecondary" sx={{ display: { xs: "none", md: "block" }, textAlign: "right", fontVariantNumeric: "tabular-nums" }}>
      {children}
    </Typography>
  );
}

function Progress({ session }: { session: SessionListItem }) {
  if (session.waiting_reason) return <Box sx={ONE_LINE} title={session.waiting_reason}>{session.waiting_reason}</Box>;
  if (session.status === "pending") {
    return <>{session.queue_position === null ? "waiting" : `position ${session.queue_position} in the queue`}</>;
  }
  const index = session.current_stage_index ?? 0;
  const count = Math.max(session.stage_count, index + 1);
  return (
    <>
      <Box sx={ONE_LINE}>{session.current_stage_name ?? "starting"}</Box>
      <Box sx={{ display: "flex", gap: "3px", mt: 0.5 }} role="img" aria-label={`stage ${index + 1} of ${count}`}>
        {Array.from({ length: count }, (_, at) => (
          <Box key={at} sx={{ height: 4, flex: 1, maxWidth: 40, borderRadius: 2, bgcolor: at <= index ? "info.main" : "divider" }} />
        ))}
      </Box>
    </>
  );
}

function secondLine(session: SessionListItem): string {
  const told = summaryLine(session);
  return session.analysis_is_partial ? `${partialNotice(session)} ${told}` : told;
}

function summaryLine(session: SessionListItem): string {
  if (session.executive_summary) return session.executive_summary;
  const reason = reasonBeside(SESSION_FACES[session.status], session.error_message);
  if (reason) return reason;
  // The beginning of some JSON tells a reader nothing; the rest of a text may.
  const text = /^\s*[{[]\s*["{[]/.test(session.alert_excerpt) ? "" : session.alert_excerpt.replace(/\s+/g, " ").trim();
  const rest = text.startsWith(session.title) ? text.slice(session.title.length).trim() : text;
  return rest || `submitted by ${session.author}`;
}
