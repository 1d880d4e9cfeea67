/** Searching the timeline and the results of its tool calls. */
import IconButton from "@mui/material/IconButton";
import InputBase from "@mui/material/InputBase";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { ChevronDown, ChevronUp, Search } from "lucide-react";
import type { KeyboardEvent } from "react";
import { useDeferredValue, useMemo, useRef, useState } from "react";
import { useShortcuts } from "@/components/shortcuts";
import { entryRows, rowEvents } from "@/presentation/timeline-rows";
import type { StageView, TimelineEvent } from "@/wire/types";

// A single letter would match everything.
const FEWEST_CHARACTERS = 2;

/** The ids of matching events, one per entry, in the order of the page: by stage, by agent, by time. */
export function findEntries(stages: readonly StageView[], events: readonly TimelineEvent[], text: string): string[] {
  const wanted = text.trim().toLowerCase();
  if (wanted.length < FEWEST_CHARACTERS) return [];
  const stageOrder = new Map(stages.map((stage, index) => [stage.id, index]));
  const agentOrder = new Map(stages.flatMap((stage) => stage.executions).map((execution, index) => [execution.id, index]));
  const stageOf = ({ stage_id: id }: TimelineEvent) => (id === null ? -1 : (stageOrder.get(id) ?? stageOrder.size));
  const agentOf = ({ execution_id: id }: TimelineEvent) => (id === null ? -1 : (agentOrder.get(id) ?? agentOrder.size));
  const matches = ({ content, metadata }: TimelineEvent) => {
    const names = ["evidence_id", "server_name", "tool_name"].map((name) => metadata[name]).filter((name) => typeof name === "string");
    return content.toLowerCase().includes(wanted) || names.join(".").toLowerCase().includes(wanted);
  };
  return entryRows(events)
    .flatMap((row) => rowEvents(row).find(matches) ?? [])
    .sort((a, b) => stageOf(a) - stageOf(b) || agentOf(a) - agentOf(b))
    .map((event) => event.id);
}

/** The next index in a circle. Starts with the first or the last if `at` is -1. */
export function stepFrom(at: number, by: 1 | -1, count: number): number {
  if (at === -1) return by === 1 ? 0 : count - 1;
  return (at + by + count) % count;
}

interface Finding {
  text: string;
  setText: (text: string) => void;
  /** The number of matching entries, and the index of the current one; -1 if there is none yet. */
  count: number;
  at: number;
  /** The id of the current event. */
  event: string | undefined;
  step: (by: 1 | -1) => void;
}

export function useFinding(stages: readonly StageView[], events: readonly TimelineEvent[]): Finding {
  const [text, setTyped] = useState("");
  const [event, setEvent] = useState<string>();
  // Megabytes may be searched: typing must stay responsive.
  const wanted = useDeferredValue(text);
  const found = useMemo(() => findEntries(stages, events, wanted), [stages, events, wanted]);
  const at = event === undefined ? -1 : found.indexOf(event);
  const setText = (next: string) => {
    setTyped(next);
    setEvent(undefined);
  };
  const step = (by: 1 | -1) => {
    if (found.length > 0) setEvent(found[stepFrom(at, by, found.length)]);
  };
  return { text, setText, count: found.length, at, event, step };
}

export function FindBar({ text, setText, count, at, step }: Finding) {
  const box = useRef<HTMLInputElement>(null);
  useShortcuts({ "/": () => box.current?.focus() });
  const onKey = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "Escape") {
      setText("");
      box.current?.blur();
    }
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  return (
    <Stack role="search" direction="row" sx={{ alignItems: "center", border: 1, borderColor: "divider", borderRadius: 1, pl: 1, my: -0.25, maxWidth: "100%" }}>
      <Search size={15} aria-hidden />
      <InputBase inputRef={box} type="search" placeholder="Find" value={text} onChange={(event) => setText(event.target.value)} onKeyDown={onKey} inputProps={{ "aria-label": "Find in the timeline and its results", "aria-keyshortcuts": "/" }} sx={{ ml: 0.75, width: { xs: 110, sm: 170 } }} />
      {text.trim() !== "" && (
        <Typography variant="caption" color="textSecondary" role="status" sx={{ whiteSpace: "nowrap", fontVariantNumeric: "tabular-nums" }}>
          {count === 0 ? "not found" : at === -1 ? `${count} found` : `${at + 1} of ${count}`}
        </Typography>
      )}
      <IconButton size="small" aria-label="Previous place" disabled={count === 0} onClick={() => step(-1)}>
        <ChevronUp size={15} />
      </IconButton>
      <IconButton size="small" aria-label="Next place" disabled={count === 0} onClick={() => step(1)}>
        <ChevronDown size={15} />
      </IconButton>
    </Stack>
  );
}
