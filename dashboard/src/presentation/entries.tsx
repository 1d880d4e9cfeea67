/** The entries of a timeline, one look per kind. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { ReactNode } from "react";
import { memo } from "react";
import type { Face } from "@/components/badge";
import { DataView } from "@/components/data-view";
import { formatDuration, plural } from "@/components/format";
import { Elapsed } from "@/components/times";
import type { TimelineEvent, TimelineEventType } from "@/wire/types";
import { AgentText } from "./cited-text";
import { EntryFrame, useFolding } from "./entry-frame";
import { EVENT_FACES } from "./events";
import { EntryEventContext } from "./fork-door";
import { isSkillRow, SkillEntry } from "./skill-entry";
import { noteFace } from "./notes";
import { TIMELINE_FACES } from "./statuses";
import type { EntryRow } from "./timeline-rows";
import { ToolEntry } from "./tool-entry";

export interface EntryProps {
  row: EntryRow;
  /** Its text stands elsewhere on the page already: begin folded. */
  repeated?: boolean;
  /** Another name for what it is. */
  title?: string | undefined;
  highlighted?: boolean;
  /** Asked for when the reader wants an address for this event. */
  onLink?: ((eventId: string) => void) | undefined;
}

export const Entry = memo(
  function Entry(props: EntryProps) {
    const { row } = props;
    return (
      <EntryEventContext value={row.kind === "tool" ? (row.call ?? row.result) : row.event}>
        <Shown {...props} />
      </EntryEventContext>
    );
  },
  (before, after) => before.highlighted === after.highlighted && before.repeated === after.repeated && before.title === after.title && before.onLink === after.onLink && sameRow(before.row, after.row),
);

function Shown({ row, highlighted = false, repeated = false, title, onLink }: EntryProps) {
  if (row.kind === "tool" && isSkillRow(row)) return <SkillEntry row={row} highlighted={highlighted} onLink={onLink} />;
  if (row.kind === "tool") return <ToolEntry row={row} highlighted={highlighted} onLink={onLink} />;
  const Look = LOOKS[row.event.event_type];
  return <Look event={row.event} highlighted={highlighted} repeated={repeated} title={title ?? EVENT_FACES[row.event.event_type].label} onLink={onLink && (() => onLink(row.event.id))} />;
}

/** Rows are made anew with every frame; their events are not. */
function sameRow(a: EntryRow, b: EntryRow): boolean {
  if (a.kind === "tool" && b.kind === "tool") return a.call === b.call && a.result === b.result && a.summary === b.summary;
  return a.kind === "event" && b.kind === "event" && a.event === b.event;
}

interface LookProps {
  event: TimelineEvent;
  highlighted: boolean;
  repeated: boolean;
  title: string;
  onLink: (() => void) | undefined;
}

function stateNote(event: TimelineEvent): ReactNode {
  switch (event.status) {
    case "streaming":
      return <Elapsed since={event.created_at} until={null} />;
    case "completed":
      return null;
    case "failed":
    case "cancelled":
    case "timed_out":
    case "interrupted":
      return TIMELINE_FACES[event.status].label.toLowerCase();
  }
}

function faceOf(event: TimelineEvent): Face {
  return event.status === "streaming" ? { ...EVENT_FACES[event.event_type], ...busy } : EVENT_FACES[event.event_type];
}
const busy = { tone: TIMELINE_FACES.streaming.tone, icon: TIMELINE_FACES.streaming.icon, busy: true };

function Thinking({ event, highlighted, onLink }: LookProps) {
  const growing = event.status === "streaming";
  const folding = useFolding(growing || highlighted);
  const note = growing ? stateNote(event) : (stateNote(event) ?? thinkingNote(event));
  return (
    <EntryFrame face={faceOf(event)} title="Thinking" note={note} at={event.created_at} onLink={onLink} highlighted={highlighted} folding={folding}>
      <Box dir="auto" sx={{ color: "text.secondary", fontSize: "0.85rem", borderLeft: 2, borderColor: "divider", pl: 1.5, mt: 0.5, whiteSpace: "pre-wrap", overflowWrap: "anywhere", lineHeight: 1.55 }}>{event.content}</Box>
    </EntryFrame>
  );
}

function thinkingNote(event: TimelineEvent): string {
  const words = plural(event.content.split(/\s+/).filter(Boolean).length, "word");
  return event.completed_at ? `${formatDuration(Date.parse(event.completed_at) - Date.parse(event.created_at))} · ${words}` : words;
}

function Prose({ event, highlighted, repeated, title: usual, onLink }: LookProps) {
  const setAside = setAsideTitle(event);
  const folding = useFolding((!repeated && setAside === null) || highlighted);
  const title = setAside ?? usual;
  const strong = event.event_type === "final_analysis" || event.event_type === "executive_summary";
  const forced = event.metadata["forced_conclusion"] === true;
  const note = forced ? "concluded at the iteration limit" : stateNote(event);
  return (
    <EntryFrame face={faceOf(event)} title={title} note={note} at={event.created_at} onLink={onLink} highlighted={highlighted} {...(strong || setAside !== null ? { folding } : {})}>
      <Box sx={strong ? { borderLeft: 2, borderColor: "success.main", pl: 1.5, mt: 0.5 } : { mt: 0.25 }}>
        <AgentText event={event} />
      </Box>
    </EntryFrame>
  );
}

/** What an answer is that another one took the place of; null for one that counts. */
function setAsideTitle({ metadata }: TimelineEvent): string | null {
  if (metadata["draft"] === true) return "Draft that was corrected";
  return metadata["rejected_correction"] === true ? "Correction that was no better" : null;
}

function Notice({ event, highlighted, onLink }: LookProps) {
  const tone = EVENT_FACES[event.event_type].tone === "bad" ? "error.main" : "warning.main";
  return (
    <EntryFrame face={faceOf(event)} title={EVENT_FACES[event.event_type].label} note={stateNote(event)} at={event.created_at} onLink={onLink} highlighted={highlighted}>
      <Typography variant="body2" sx={{ borderLeft: 2, borderColor: tone, pl: 1.5, mt: 0.25, whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {event.content}
      </Typography>
    </EntryFrame>
  );
}

/** What reached the agent from outside: an engineer's hint, or news of the incident's alerts. */
function Told({ event, highlighted, onLink }: LookProps) {
  const { kind, author } = event.metadata;
  const face = noteFace(kind) ?? EVENT_FACES.note;
  return (
    <EntryFrame face={face} title={face.label} note={typeof author === "string" ? `from ${author}` : null} at={event.created_at} onLink={onLink} highlighted={highlighted}>
      <Typography variant="body2" dir="auto" sx={{ borderLeft: 2, borderColor: "info.main", pl: 1.5, mt: 0.25, whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {event.content}
      </Typography>
    </EntryFrame>
  );
}

function Data({ event, highlighted, onLink }: LookProps) {
  const folding = useFolding(highlighted);
  const name = event.metadata["tool_name"];
  // What the model's vendor ran; what came of it is the content.
  const code = event.metadata["code"];
  const title = typeof name === "string" ? `${EVENT_FACES[event.event_type].label}: ${name}` : EVENT_FACES[event.event_type].label;
  return (
    <EntryFrame face={faceOf(event)} title={title} note={stateNote(event)} at={event.created_at} onLink={onLink} highlighted={highlighted} folding={folding}>
      <Stack sx={{ mt: 0.75, gap: 0.75 }}>
        {typeof code === "string" && code !== "" && <DataView text={code} label="Code" />}
        <DataView text={event.content} label={EVENT_FACES[event.event_type].label} />
      </Stack>
    </EntryFrame>
  );
}

const LOOKS = {
  llm_thinking: Thinking,
  llm_response: Prose,
  final_analysis: Prose,
  executive_summary: Prose,
  mcp_tool_summary: Prose,
  user_question: Notice,
  error: Notice,
  warning: Notice,
  provider_fallback: Notice,
  note: Told,
  llm_tool_call: Data,
  tool_result: Data,
  code_execution: Data,
  google_search_result: Data,
  url_context_result: Data,
} satisfies Record<TimelineEventType, (props: LookProps) => ReactNode>;
