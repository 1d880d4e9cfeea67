/** The entries of a timeline: one component per type of event. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { Binary, BookOpen, Brain, CircleHelp, CircleX, FileText, Globe, Lightbulb, ListTree, MessageSquareText, Microscope, Repeat2, Search, TriangleAlert, Wrench } from "lucide-react";
import type { ReactNode } from "react";
import { memo } from "react";
import type { BadgeStyle } from "@/components/badge";
import { DataView } from "@/components/data-view";
import { formatDuration, plural } from "@/components/format";
import { Markdown } from "@/components/markdown";
import { plainText } from "@/components/plain-text";
import { Elapsed } from "@/components/times";
import type { TimelineEvent, TimelineEventType } from "@/wire/types";
import { AgentText } from "./cited-text";
import { EntryFrame, useFolding } from "./entry-frame";
import { EntryEventContext } from "./forks";
import { noteBadge } from "./note-line";
import { TIMELINE_BADGES } from "./statuses";
import type { EntryRow, ToolRow } from "./timeline-rows";
import { nonEmptyText } from "./timeline-rows";
import { TOOL_CALL_BADGE, ToolEntry } from "./tool-entry";

export const EVENT_BADGES = {
  llm_thinking: { label: "Thinking", tone: "neutral", icon: Brain },
  llm_response: { label: "Response", tone: "neutral", icon: MessageSquareText },
  llm_tool_call: TOOL_CALL_BADGE,
  tool_result: { label: "Tool result", tone: "neutral", icon: Wrench },
  mcp_tool_summary: { label: "Summary of a tool result", tone: "neutral", icon: ListTree },
  final_analysis: { label: "Analysis", tone: "good", icon: Microscope },
  executive_summary: { label: "Executive summary", tone: "good", icon: FileText },
  error: { label: "Error", tone: "bad", icon: CircleX },
  warning: { label: "Warning", tone: "warning", icon: TriangleAlert },
  user_question: { label: "Question", tone: "running", icon: CircleHelp },
  code_execution: { label: "Code execution", tone: "neutral", icon: Binary },
  google_search_result: { label: "Web search", tone: "neutral", icon: Search },
  url_context_result: { label: "Web page", tone: "neutral", icon: Globe },
  provider_fallback: { label: "Switched to another model", tone: "warning", icon: Repeat2 },
  note: { label: "Note", tone: "running", icon: Lightbulb },
} satisfies Record<TimelineEventType, BadgeStyle>;

interface EntryProps {
  row: EntryRow;
  /** The page shows its text in another place too: start folded. */
  repeated?: boolean;
  /** Replaces the label of the event type. */
  title?: string | undefined;
  highlighted?: boolean;
  onLink?: ((eventId: string) => string) | undefined;
}

export const Entry = memo(
  function Entry({ row, highlighted = false, repeated = false, title, onLink }: EntryProps) {
    if (row.kind === "tool") {
      return (
        <EntryEventContext value={row.call ?? row.result}>
          {isSkillRow(row) ? <SkillEntry row={row} highlighted={highlighted} onLink={onLink} /> : <ToolEntry row={row} highlighted={highlighted} onLink={onLink} />}
        </EntryEventContext>
      );
    }
    const { event } = row;
    const View = VIEWS[event.event_type];
    return (
      <EntryEventContext value={event}>
        <View event={event} highlighted={highlighted} repeated={repeated} title={title ?? EVENT_BADGES[event.event_type].label} onLink={onLink && (() => onLink(event.id))} />
      </EntryEventContext>
    );
  },
  (before, after) => before.highlighted === after.highlighted && before.repeated === after.repeated && before.title === after.title && before.onLink === after.onLink && isSameRow(before.row, after.row),
);

/** Rows are new objects in every frame; their events are not. */
function isSameRow(a: EntryRow, b: EntryRow): boolean {
  if (a.kind === "tool" && b.kind === "tool") return a.call === b.call && a.result === b.result && a.summary === b.summary;
  return a.kind === "event" && b.kind === "event" && a.event === b.event;
}

interface ViewProps {
  event: TimelineEvent;
  highlighted: boolean;
  repeated: boolean;
  title: string;
  onLink: (() => string) | undefined;
}

function statusNote(event: TimelineEvent): ReactNode {
  switch (event.status) {
    case "streaming":
      return <Elapsed since={event.created_at} until={null} />;
    case "completed":
      return null;
    case "failed":
    case "cancelled":
    case "timed_out":
    case "interrupted":
      return TIMELINE_BADGES[event.status].label.toLowerCase();
  }
}

function eventBadge(event: TimelineEvent): BadgeStyle {
  const badge = EVENT_BADGES[event.event_type];
  return event.status === "streaming" ? { ...TIMELINE_BADGES.streaming, label: badge.label } : badge;
}

// More than a line has room for.
const EXCERPT_CHARACTERS = 240;

function ThinkingView({ event, highlighted, onLink }: ViewProps) {
  const folding = useFolding(event.status === "streaming" || highlighted);
  const words = plural(event.content.split(/\s+/).filter(Boolean).length, "word");
  const note = event.completed_at ? `${formatDuration(Date.parse(event.completed_at) - Date.parse(event.created_at))} · ${words}` : words;
  return (
    <EntryFrame badge={eventBadge(event)} title="Thinking" note={statusNote(event) ?? note} excerpt={plainText(event.content.slice(0, EXCERPT_CHARACTERS))} at={event.created_at} onLink={onLink} highlighted={highlighted} folding={folding}>
      <Box dir="auto" sx={{ color: "text.secondary", fontSize: "0.85rem", borderLeft: 2, borderColor: "divider", pl: 1.5, mt: 0.5, whiteSpace: "pre-wrap", overflowWrap: "anywhere", lineHeight: 1.55 }}>{event.content}</Box>
    </EntryFrame>
  );
}

function TextView({ event, highlighted, repeated, title, onLink }: ViewProps) {
  const { metadata } = event;
  // The title of an answer that another one has replaced.
  const superseded = metadata["draft"] === true ? "Draft that was corrected" : metadata["rejected_correction"] === true ? "Correction that was no better" : null;
  const folding = useFolding((!repeated && superseded === null) || highlighted);
  const isResult = event.event_type === "final_analysis" || event.event_type === "executive_summary";
  const note = metadata["forced_conclusion"] === true ? "concluded at the iteration limit" : statusNote(event);
  return (
    <EntryFrame badge={eventBadge(event)} title={superseded ?? title} note={note} at={event.created_at} onLink={onLink} highlighted={highlighted} {...(isResult || superseded !== null ? { folding } : {})}>
      <Box sx={isResult ? { borderLeft: 2, borderColor: "success.main", pl: 1.5, mt: 0.5 } : { mt: 0.25 }}>
        <AgentText event={event} />
      </Box>
    </EntryFrame>
  );
}

function NoticeView({ event, highlighted, onLink }: ViewProps) {
  const { label, tone } = EVENT_BADGES[event.event_type];
  return (
    <EntryFrame badge={eventBadge(event)} title={label} note={statusNote(event)} at={event.created_at} onLink={onLink} highlighted={highlighted}>
      <Typography variant="body2" sx={{ borderLeft: 2, borderColor: tone === "bad" ? "error.main" : "warning.main", pl: 1.5, mt: 0.25, whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {event.content}
      </Typography>
    </EntryFrame>
  );
}

/** A message that the agent received while it ran: a hint, or an update of the incident's alerts. */
function NoteView({ event, highlighted, onLink }: ViewProps) {
  const { kind, author } = event.metadata;
  const badge = noteBadge(kind) ?? EVENT_BADGES.note;
  return (
    <EntryFrame badge={badge} title={badge.label} note={typeof author === "string" ? `from ${author}` : null} at={event.created_at} onLink={onLink} highlighted={highlighted}>
      <Typography variant="body2" dir="auto" sx={{ borderLeft: 2, borderColor: "info.main", pl: 1.5, mt: 0.25, whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {event.content}
      </Typography>
    </EntryFrame>
  );
}

function DataEventView({ event, highlighted, onLink }: ViewProps) {
  const folding = useFolding(highlighted);
  const { label } = EVENT_BADGES[event.event_type];
  const name = event.metadata["tool_name"];
  // Code that the model's vendor ran; the content is its output.
  const code = event.metadata["code"];
  return (
    <EntryFrame badge={eventBadge(event)} title={typeof name === "string" ? `${label}: ${name}` : label} note={statusNote(event)} at={event.created_at} onLink={onLink} highlighted={highlighted} folding={folding}>
      <Stack sx={{ mt: 0.75, gap: 0.75 }}>
        {typeof code === "string" && code !== "" && <DataView text={code} label="Code" />}
        <DataView text={event.content} label={label} />
      </Stack>
    </EntryFrame>
  );
}

const VIEWS = {
  llm_thinking: ThinkingView,
  llm_response: TextView,
  final_analysis: TextView,
  executive_summary: TextView,
  mcp_tool_summary: TextView,
  user_question: NoticeView,
  error: NoticeView,
  warning: NoticeView,
  provider_fallback: NoticeView,
  note: NoteView,
  llm_tool_call: DataEventView,
  tool_result: DataEventView,
  code_execution: DataEventView,
  google_search_result: DataEventView,
  url_context_result: DataEventView,
} satisfies Record<TimelineEventType, (props: ViewProps) => ReactNode>;

const SKILL_BADGE: BadgeStyle = { label: "Skill", tone: "good", icon: BookOpen };

function isSkillRow(row: ToolRow): boolean {
  const first = row.call ?? row.result;
  return first?.metadata["server_name"] === "tarsy" && first.metadata["tool_name"] === "load_skill";
}

/** "kubernetes-dns", or "kubernetes-dns, file notes.md". */
function skillName(argumentsText: string): string {
  try {
    const args: unknown = JSON.parse(argumentsText);
    if (typeof args !== "object" || args === null) return argumentsText;
    const { name, file } = args as Record<string, unknown>;
    return [nonEmptyText(name) ?? argumentsText, ...(nonEmptyText(file) ? [`file ${String(file)}`] : [])].join(", ");
  } catch {
    return argumentsText;
  }
}

/** A skill that an agent loaded, with its text. */
function SkillEntry({ row, highlighted, onLink }: { row: ToolRow; highlighted: boolean; onLink: ((eventId: string) => string) | undefined }) {
  const folding = useFolding(highlighted);
  const first = row.call ?? row.result;
  if (!first) return null;
  const failed = row.result && row.result.status !== "completed" && row.result.status !== "streaming";
  const isLoading = !row.result || row.result.status === "streaming";
  const loaded = nonEmptyText(row.result?.content)?.split("\n", 1)[0]?.replace(/^\[Skill |\]$/g, "");
  return (
    <EntryFrame
      badge={failed ? TIMELINE_BADGES[row.result?.status ?? "failed"] : SKILL_BADGE}
      title={`Skill ${row.call ? skillName(row.call.content) : (loaded ?? "")}`}
      note={failed ? "not loaded" : isLoading ? "loading" : "loaded"}
      at={first.created_at}
      onLink={onLink && (() => onLink(first.id))}
      highlighted={highlighted}
      folding={folding}
    >
      <Box sx={{ borderLeft: 2, borderColor: "divider", pl: 1.5, mt: 0.5 }}>
        <Markdown text={row.result?.content ?? ""} />
      </Box>
    </EntryFrame>
  );
}
