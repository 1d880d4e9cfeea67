/** A tool call in a timeline: its arguments, its result (series of metrics as a chart), and the summary that the model was given instead of a long result. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { Wrench } from "lucide-react";
import type { RefObject } from "react";
import { createContext, use, useEffect, useMemo, useRef } from "react";
import type { BadgeStyle } from "@/components/badge";
import { DataView } from "@/components/data-view";
import { formatDuration, plural } from "@/components/format";
import { Markdown } from "@/components/markdown";
import { SESSION_HEADER_PX } from "@/components/page";
import type { TextRange } from "@/components/structured-text";
import { MONO } from "@/components/text-styles";
import { Elapsed } from "@/components/times";
import type { Approval } from "@/wire/types";
import { ApprovalCard, ApprovalsContext, approvalKey, APPROVAL_STATES } from "./approval-card";
import { EntryFrame, useFolding } from "./entry-frame";
import { MetricChart } from "./metric-chart";
import { TIMELINE_BADGES } from "./statuses";
import type { ToolRow } from "./timeline-rows";
import { evidenceIdOf, nonEmptyText } from "./timeline-rows";
import { formatArguments } from "./tool-lines";

export const TOOL_CALL_BADGE: BadgeStyle = { label: "Tool call", tone: "neutral", icon: Wrench };

interface ToolEntryProps {
  row: ToolRow;
  highlighted: boolean;
  onLink: ((eventId: string) => string) | undefined;
}

export function ToolEntry({ row, highlighted, onLink }: ToolEntryProps) {
  const { call, result, summary } = row;
  const folding = useFolding(highlighted);
  const inCall = useFoundRange(call?.content, highlighted);
  const inResult = useFoundRange(result?.content, highlighted);
  const body = useRef<HTMLDivElement>(null);
  useScrollToMatch(body, inCall ?? inResult);
  const first = call ?? result ?? summary;
  const approval = use(ApprovalsContext).get(approvalKey(first?.execution_id ?? null, first?.metadata["call_id"]));
  if (!first) return null;
  const server = nonEmptyText(first.metadata["server_name"]);
  const name = nonEmptyText(first.metadata["tool_name"]) ?? "tool";
  const evidenceId = evidenceIdOf(first);
  return (
    <EntryFrame
      badge={approval?.state === "pending" ? APPROVAL_STATES.pending : !result || result.status === "completed" ? TOOL_CALL_BADGE : TIMELINE_BADGES[result.status]}
      title={
        <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.82rem" }}>
          {evidenceId !== null && (
            <Box component="span" title="Agents cite the result by this id" sx={{ color: "text.secondary", fontWeight: 400, mr: 1 }}>
              {evidenceId}
            </Box>
          )}
          {server && (
            <Box component="span" sx={{ color: "text.secondary", fontWeight: 400 }}>
              {server}.
            </Box>
          )}
          {name}{" "}
          {!folding.open && call && (
            <Box component="span" sx={{ fontWeight: 400, color: "text.secondary", ml: 0.5 }}>
              {formatArguments(call.content)}
            </Box>
          )}
        </Box>
      }
      note={<ToolNote row={row} approval={approval} />}
      at={first.created_at}
      onLink={onLink && (() => onLink(first.id))}
      highlighted={highlighted}
      folding={folding}
      preview={result?.status === "completed" && <MetricChart text={result.content} />}
    >
      <Stack ref={body} spacing={1} sx={{ mt: 0.75, mb: 0.5 }}>
        {approval ? <ApprovalCard approval={approval} /> : call && <DataView text={call.content} label="Arguments" maxHeight={240} mark={inCall} />}
        {summary && (
          <Box sx={{ borderLeft: 2, borderColor: "divider", pl: 1.5 }}>
            <Typography variant="caption" color="textSecondary">
              Summary given to the model
            </Typography>
            <Markdown text={summary.content} growing={summary.status === "streaming"} />
          </Box>
        )}
        {result && result.content !== "" && <DataView text={result.content} label={summary ? "Full result" : "Result"} mark={inResult} />}
      </Stack>
    </EntryFrame>
  );
}

function ToolNote({ row: { result, summary }, approval }: { row: ToolRow; approval: Approval | undefined }) {
  if (!result) return null;
  if (result.status === "streaming") {
    return (
      <>
        running, <Elapsed since={result.created_at} until={null} />
      </>
    );
  }
  const duration = result.metadata["duration_ms"];
  const parts = [
    approval?.decided_by ? `${approval.state} by ${approval.decided_by}` : null,
    result.status === "completed" ? null : TIMELINE_BADGES[result.status].label.toLowerCase(),
    typeof duration === "number" ? formatDuration(duration) : null,
    plural(result.content.split("\n").length, "line"),
    summary ? "summarised" : null,
  ];
  return <>{parts.filter((part) => part !== null).join(" · ")}</>;
}

/** The text that the user searches for on the page; "" for none. Highlighted entries mark it. */
export const FindTextContext = createContext("");

/** The first match of the searched text; null unless the entry is highlighted. */
function useFoundRange(text: string | undefined, highlighted: boolean): TextRange | null {
  const wanted = use(FindTextContext).trim().toLowerCase();
  return useMemo(() => {
    const start = highlighted && wanted !== "" && text !== undefined ? text.toLowerCase().indexOf(wanted) : -1;
    return start === -1 ? null : { start, end: start + wanted.length };
  }, [text, highlighted, wanted]);
}

// Entries open, are measured, and scroll to their mark within half a second.
const SETTLING_FRAMES = 30;

/** Scrolls the mark of an entry into view. The timeline scrolled to the start of the entry when it was folded, and the mark may be far below. */
function useScrollToMatch(entry: RefObject<HTMLElement | null>, match: TextRange | null): void {
  useEffect(() => {
    if (match === null) return;
    let [frame, left] = [0, SETTLING_FRAMES];
    const scroll = () => {
      const mark = entry.current?.querySelector("mark");
      const box = mark?.getBoundingClientRect();
      if (mark && box && (box.top < SESSION_HEADER_PX || box.bottom > window.innerHeight)) mark.scrollIntoView({ block: "center" });
      left -= 1;
      if (left > 0) frame = requestAnimationFrame(scroll);
    };
    frame = requestAnimationFrame(scroll);
    return () => cancelAnimationFrame(frame);
  }, [entry, match]);
}
