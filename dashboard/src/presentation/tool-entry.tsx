/** A tool call with its arguments, its result, and the summary the model was given instead of a long one. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useRef } from "react";
import type { Face } from "@/components/badge";
import { DataView } from "@/components/data-view";
import { MONO } from "@/components/text-styles";
import { formatDuration, plural } from "@/components/format";
import { Markdown } from "@/components/markdown";
import { Elapsed } from "@/components/times";
import type { TimelineEvent } from "@/wire/types";
import { EntryFrame, useFolding } from "./entry-frame";
import { EVENT_FACES } from "./events";
import { useFoundInView, useFoundPlace } from "./found-words";
import { TIMELINE_FACES } from "./statuses";
import type { ToolRow } from "./timeline-rows";
import { evidenceIdOf, text } from "./timeline-rows";
import { argumentsLine } from "./tool-lines";

interface ToolEntryProps {
  row: ToolRow;
  highlighted: boolean;
  onLink: ((eventId: string) => void) | undefined;
}

export function ToolEntry({ row, highlighted, onLink }: ToolEntryProps) {
  const folding = useFolding(highlighted);
  const inCall = useFoundPlace(row.call?.content, highlighted);
  const inResult = useFoundPlace(row.result?.content, highlighted);
  const body = useRef<HTMLDivElement>(null);
  useFoundInView(body, inCall, inResult);
  const first = row.call ?? row.result ?? row.summary;
  if (!first) return null;
  const server = text(first.metadata["server_name"]);
  const name = text(first.metadata["tool_name"]) ?? "tool";
  const evidenceId = evidenceIdOf(first);
  return (
    <EntryFrame
      face={toolFace(row)}
      title={
        <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.82rem" }}>
          {evidenceId !== null && (
            <Box component="span" title="By this id agents cite the result" sx={{ color: "text.secondary", fontWeight: 400, mr: 1 }}>
              {evidenceId}
            </Box>
          )}
          {server && (
            <Box component="span" sx={{ color: "text.secondary", fontWeight: 400 }}>
              {server}.
            </Box>
          )}
          {name}{" "}
          {!folding.open && row.call && (
            <Box component="span" sx={{ fontWeight: 400, color: "text.secondary", ml: 0.5 }}>
              {argumentsLine(row.call.content)}
            </Box>
          )}
        </Box>
      }
      note={<ToolNote row={row} />}
      at={first.created_at}
      onLink={onLink && (() => onLink(first.id))}
      highlighted={highlighted}
      folding={folding}
    >
      <Stack ref={body} spacing={1} sx={{ mt: 0.75, mb: 0.5 }}>
        {row.call && <DataView text={row.call.content} label="Arguments" maxHeight={240} mark={inCall} />}
        {row.summary && <Summary event={row.summary} />}
        {row.result && row.result.content !== "" && <DataView text={row.result.content} label={row.summary ? "Full result" : "Result"} mark={inResult} />}
      </Stack>
    </EntryFrame>
  );
}

function toolFace({ result }: ToolRow): Face {
  if (!result || result.status === "completed") return EVENT_FACES.llm_tool_call;
  return TIMELINE_FACES[result.status];
}

function ToolNote({ row: { result, summary } }: { row: ToolRow }) {
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
    result.status === "completed" ? null : TIMELINE_FACES[result.status].label.toLowerCase(),
    typeof duration === "number" ? formatDuration(duration) : null,
    plural(result.content.split("\n").length, "line"),
    summary ? "summarised" : null,
  ];
  return <>{parts.filter((part) => part !== null).join(" · ")}</>;
}

function Summary({ event }: { event: TimelineEvent }) {
  return (
    <Box sx={{ borderLeft: 2, borderColor: "divider", pl: 1.5 }}>
      <Typography variant="caption" color="textSecondary">
        Summary given to the model
      </Typography>
      <Markdown text={event.content} growing={event.status === "streaming"} />
    </Box>
  );
}
