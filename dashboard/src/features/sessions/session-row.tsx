/** A row of the session list. The whole row is a link to the session. */
import Box from "@mui/material/Box";
import GlobalStyles from "@mui/material/GlobalStyles";
import type { Theme } from "@mui/material/styles";
import type { SystemStyleObject } from "@mui/system";
import type { CSSProperties } from "react";
import { memo } from "react";
import { Badge } from "@/components/badge";
import { formatCost, formatCount } from "@/components/format";
import { Highlighted } from "@/components/highlighted";
import { BareLink, LIST_ROW, ROW_LINK } from "@/components/links";
import { MONO, ONE_LINE } from "@/components/text-styles";
import { Elapsed, RelativeTime } from "@/components/times";
import { SEVERITY_BADGES } from "@/presentation/incidents";
import { findingOf, StatusBadge } from "@/presentation/session-status";
import { hasEnded, sessionReason } from "@/presentation/statuses";
import { citationSummary, CONFIDENCE_BADGES } from "@/presentation/verdict";
import type { SessionListItem } from "@/wire/types";
import type { Column, ColumnId } from "./search";
import { COLUMNS } from "./search";

interface SessionRowProps {
  session: SessionListItem;
  columns: readonly ColumnId[];
  /** The grid columns on a wide screen. */
  grid: string;
  selected: boolean;
  /** The words of the search. */
  words: readonly string[];
  onSelect: (id: string, selected: boolean) => void;
}

export const SessionRow = memo(function SessionRow({ session, columns, grid, selected, words, onSelect }: SessionRowProps) {
  return (
    <li className={ROW_CLASS} style={{ "--columns": grid } as CSSProperties} data-session={session.id}>
      <input type="checkbox" aria-label={`Select ${session.title}`} checked={selected} onChange={(event) => onSelect(session.id, event.target.checked)} />
      <div className="status">
        <StatusBadge session={session} />
      </div>
      <div className="about">
        <div className="title">
          <BareLink to="/sessions/$sessionId" params={{ sessionId: session.id }} data-row-link>
            <Highlighted text={session.title} words={words} />
          </BareLink>
          {session.title !== session.alert_type && <span className="type">{session.alert_type}</span>}
        </div>
        <div className="line">
          <Highlighted text={secondLine(session)} words={words} around />
        </div>
      </div>
      {columns.map((id) => (
        <div key={id} className={cellClass(id)} data-ended={hasEnded(session.status)}>
          <Cell id={id} session={session} />
        </div>
      ))}
    </li>
  );
});

/** The stage and the time of submission are shown on a phone too. */
function cellClass(id: ColumnId): string {
  const column: Column | undefined = COLUMNS.find((known) => known.id === id);
  return ["cell", column?.isNumber && "figure", id === "author" && "stage", id === "submitted" && "when"].filter(Boolean).join(" ");
}

function Cell({ id, session }: { id: ColumnId; session: SessionListItem }) {
  switch (id) {
    case "severity":
      return session.severity && <Badge badge={SEVERITY_BADGES[session.severity]} />;
    case "author":
      return hasEnded(session.status) ? <div className="line">{session.author}</div> : <Progress session={session} />;
    case "confidence":
      return session.verdict && <Badge badge={CONFIDENCE_BADGES[session.verdict.confidence]} label={session.verdict.confidence} />;
    case "citations":
      return session.citations && <span title={citationSummary(session.citations)}>{`${session.citations.verified} of ${session.citations.cited}`}</span>;
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

/** What was found, the reason of a failure, or the start of the alert. */
function secondLine(session: SessionListItem): string {
  const line = findingOf(session) ?? sessionReason(session);
  if (line !== null) return line;
  // The start of JSON is not informative; the rest of a text after its title may be.
  const text = /^\s*[{[]\s*["{[]/.test(session.alert_excerpt) ? "" : session.alert_excerpt.replace(/\s+/g, " ").trim();
  const rest = text.startsWith(session.title) ? text.slice(session.title.length).trim() : text;
  return rest || `submitted by ${session.author}`;
}

const ROW_CLASS = "session-row";

// Hidden where the title needs the room.
const HIDDEN_IF_NARROW = { "@container (max-width: 340px)": { display: "none" } } as const;

/** Global instead of per element: a page has up to two hundred rows with a dozen elements each. */
const ROW: SystemStyleObject<Theme> = {
  ...LIST_ROW,
  gridTemplateColumns: { xs: "1fr auto", md: "var(--columns)" },
  fontSize: "0.875rem",
  color: "text.secondary",
  "& > input": { display: { xs: "none", md: "block" }, position: "relative", zIndex: 1, m: 0, width: 16, height: 16, accentColor: "var(--mui-palette-primary-main)" },
  "& > .status": { gridRow: { xs: 1, md: "auto" } },
  "& > .about": { minWidth: 0, containerType: "inline-size", gridColumn: { xs: "1 / -1", md: "auto" }, gridRow: { xs: 2, md: "auto" } },
  "& .title": { display: "flex", alignItems: "baseline", gap: 1, fontSize: "0.92rem" },
  "& .title > a": { ...ROW_LINK, ...ONE_LINE, display: "block" },
  "& .type": { ...ONE_LINE, ...HIDDEN_IF_NARROW, display: { xs: "none", sm: "block" }, flexShrink: 0, maxWidth: "40%", fontFamily: MONO, fontSize: "0.75rem" },
  "& .line": ONE_LINE,
  "& > .cell": { display: { xs: "none", md: "block" }, minWidth: 0 },
  "& > .figure": { textAlign: "right", fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" },
  "& > .stage": { display: { xs: "block", md: "block" }, gridColumn: { xs: "1 / -1", md: "auto" } },
  "& > .stage[data-ended=true]": { display: { xs: "none", md: "block" } },
  "& > .when": { display: "block", gridRow: { xs: 1, md: "auto" }, gridColumn: { xs: 2, md: "auto" }, position: "relative", zIndex: 1 },
};

export function RowStyles() {
  return <GlobalStyles styles={(theme) => ({ [`.${ROW_CLASS}`]: theme.unstable_sx(ROW) })} />;
}
