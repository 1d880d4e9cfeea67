/** One session in the list: recognisable in a glance, a link as a whole. */
import Box from "@mui/material/Box";
import type { CSSProperties } from "react";
import { memo } from "react";
import { Badge } from "@/components/badge";
import { BareLink } from "@/components/links";
import { formatCost, formatCount } from "@/components/format";
import { Elapsed, RelativeTime } from "@/components/times";
import { SEVERITY_FACES } from "@/presentation/incidents";
import { partialNotice } from "@/presentation/partial-analysis";
import { hasEnded, reasonOf, SESSION_FACES } from "@/presentation/statuses";
import { citationsLine, CONFIDENCE_FACES, OUTCOME_FACES } from "@/presentation/verdict";
import type { SessionListItem } from "@/wire/types";
import type { ColumnId } from "./columns";
import { ROW_CLASS } from "./row-styles";

interface SessionRowProps {
  session: SessionListItem;
  columns: readonly ColumnId[];
  /** The row's grid on a wide screen. */
  grid: string;
  marked: boolean;
  onMark: (id: string, marked: boolean) => void;
}

export const SessionRow = memo(function SessionRow({ session, columns, grid, marked, onMark }: SessionRowProps) {
  return (
    <li className={ROW_CLASS} style={{ "--columns": grid } as CSSProperties} data-session={session.id}>
      <input type="checkbox" aria-label={`Select ${session.title}`} checked={marked} onChange={(event) => onMark(session.id, event.target.checked)} />
      <div className="status">
        <Badge face={SESSION_FACES[session.status]} />
      </div>
      <div className="about">
        <div className="title">
          <BareLink to="/sessions/$sessionId" params={{ sessionId: session.id }} data-row-link>
            {session.title}
          </BareLink>
          {session.title !== session.alert_type && <span className="type">{session.alert_type}</span>}
        </div>
        <div className="line">{secondLine(session)}</div>
      </div>
      {columns.map((id) => (
        <div key={id} className={CELL_CLASS[id] ?? "cell"} data-ended={hasEnded(session.status)}>
          <Cell id={id} session={session} />
        </div>
      ))}
    </li>
  );
});

// What a phone has room for as well, and where figures stand.
const CELL_CLASS: Partial<Record<ColumnId, string>> = {
  verdict: "cell came",
  submitted: "cell figure when",
  citations: "cell figure",
  agents: "cell figure",
  fallback: "cell figure",
  chat: "cell figure",
  score: "cell figure",
  tokens: "cell figure",
  cost: "cell figure",
  duration: "cell figure",
};

function Cell({ id, session }: { id: ColumnId; session: SessionListItem }) {
  switch (id) {
    case "severity":
      return session.severity && <Badge face={SEVERITY_FACES[session.severity]} />;
    case "verdict":
      return hasEnded(session.status) ? <Came session={session} /> : <Progress session={session} />;
    case "confidence":
      return session.verdict && <Badge face={CONFIDENCE_FACES[session.verdict.confidence]} label={session.verdict.confidence} />;
    case "citations":
      return session.citations && <span title={citationsLine(session.citations)}>{`${session.citations.verified} of ${session.citations.cited}`}</span>;
    case "agents":
      return session.agents > 0 && session.agents;
    case "fallback":
      return session.fallbacks > 0 && session.fallbacks;
    case "chat":
      return session.questions > 0 && session.questions;
    case "score":
      return session.score;
    case "tokens":
      return session.total_tokens > 0 && <span title={[`${session.total_tokens.toLocaleString()} tokens`, formatCost(session.cost)].filter((part) => part !== null).join(", ")}>{formatCount(session.total_tokens)}</span>;
    case "cost":
      return formatCost(session.cost);
    case "duration":
      return session.started_at && <Elapsed since={session.started_at} until={session.completed_at} />;
    case "submitted":
      return <RelativeTime at={session.created_at} />;
  }
}

/** What it came to, as far as it came to anything, and by whom it was asked for. */
function Came({ session: { verdict, author } }: { session: SessionListItem }) {
  return (
    <>
      {verdict && (
        <span title={`${CONFIDENCE_FACES[verdict.confidence].label}: ${verdict.mechanism}`}>
          <Badge face={OUTCOME_FACES[verdict.outcome]} />
        </span>
      )}
      <div className="line">{author}</div>
    </>
  );
}

function Progress({ session }: { session: SessionListItem }) {
  if (session.waiting_reason) return <div className="line" title={session.waiting_reason}>{session.waiting_reason}</div>;
  if (session.status === "pending") {
    return <>{session.queue_position === null ? "waiting" : `position ${session.queue_position} in the queue`}</>;
  }
  const index = session.current_stage_index ?? 0;
  const count = Math.max(session.stage_count, index + 1);
  return (
    <>
      <div className="line">{session.current_stage_name ?? "starting"}</div>
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
  const reason = reasonOf(session);
  if (reason) return reason;
  // The beginning of some JSON tells a reader nothing; the rest of a text may.
  const text = /^\s*[{[]\s*["{[]/.test(session.alert_excerpt) ? "" : session.alert_excerpt.replace(/\s+/g, " ").trim();
  const rest = text.startsWith(session.title) ? text.slice(session.title.length).trim() : text;
  return rest || `submitted by ${session.author}`;
}
