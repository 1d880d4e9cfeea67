/** Pure module: the events of a timeline as the rows a person reads. A tool call and its result are one row. */
import type { StageView, TimelineEvent } from "@/wire/types";

export interface ToolRow {
  kind: "tool";
  key: string;
  call: TimelineEvent | null;
  result: TimelineEvent | null;
  summary: TimelineEvent | null;
}
export interface EventRow {
  kind: "event";
  key: string;
  event: TimelineEvent;
}
export interface StageRow {
  kind: "stage";
  key: string;
  stage: StageView;
}
/** The agents of a parallel stage: the reader picks the one to follow, or all side by side. */
export interface AgentsRow {
  kind: "agents";
  key: string;
  stage: StageView;
  selected: string;
}
export type EntryRow = ToolRow | EventRow;
export type TimelineRow = EntryRow | StageRow | AgentsRow;

/** Join what belongs together, in the order of the first of each. */
export function entryRows(events: readonly TimelineEvent[]): EntryRow[] {
  const rows: EntryRow[] = [];
  const byCall = new Map<string, ToolRow>();
  for (const event of events) {
    const slot = toolSlot(event);
    const callId = text(event.metadata["call_id"]);
    if (slot === null || callId === null) {
      rows.push({ kind: "event", key: event.id, event });
      continue;
    }
    const joined = `${event.execution_id ?? ""} ${callId}`;
    const known = byCall.get(joined);
    if (known && known[slot] === null) {
      known[slot] = event;
      continue;
    }
    const row: ToolRow = { kind: "tool", key: event.id, call: null, result: null, summary: null };
    row[slot] = event;
    byCall.set(joined, row);
    rows.push(row);
  }
  return rows;
}

function toolSlot(event: TimelineEvent): "call" | "result" | "summary" | null {
  switch (event.event_type) {
    case "llm_tool_call":
      return "call";
    case "tool_result":
      return "result";
    case "mcp_tool_summary":
      return "summary";
    default:
      return null;
  }
}

export function eventsOfRow(row: TimelineRow): TimelineEvent[] {
  switch (row.kind) {
    case "event":
      return [row.event];
    case "tool":
      return [row.call, row.result, row.summary].filter((event) => event !== null);
    case "stage":
    case "agents":
      return [];
  }
}

/** A row with its events as they are now; the rows themselves are made only when events come or end. */
export function currentRow<Row extends TimelineRow>(row: Row, now: (event: TimelineEvent) => TimelineEvent): Row {
  const fresh = (event: TimelineEvent | null) => event && now(event);
  switch (row.kind) {
    case "event":
      return { ...row, event: now(row.event) };
    case "tool":
      return { ...row, call: fresh(row.call), result: fresh(row.result), summary: fresh(row.summary) };
    case "stage":
    case "agents":
      return row;
  }
}

/** All rows of the stages, in their order; of a parallel stage only the selected agent's, or none where they stand side by side. */
export function timelineRows(
  stages: readonly StageView[],
  events: readonly TimelineEvent[],
  selected: ReadonlyMap<string, string>,
  sideBySide: ReadonlySet<string> = new Set(),
): TimelineRow[] {
  const byStage = groupBy(events, (event) => event.stage_id);
  const known = new Set(stages.map((stage) => stage.id));
  const rows: TimelineRow[] = entryRows(events.filter((event) => event.stage_id === null));
  for (const stage of stages) rows.push(...stageRows(stage, byStage.get(stage.id) ?? [], selected, sideBySide.has(stage.id)));
  // Their stage is known as soon as the session has been asked for again.
  for (const [id, early] of byStage) if (id !== null && !known.has(id)) rows.push(...entryRows(early));
  return rows;
}

function stageRows(stage: StageView, events: TimelineEvent[], selected: ReadonlyMap<string, string>, sideBySide: boolean): TimelineRow[] {
  const header: StageRow = { kind: "stage", key: `stage-${stage.id}`, stage };
  if (stage.executions.length < 2) return [header, ...entryRows(events)];
  const chosen = selected.get(stage.id) ?? stage.executions[0]?.id ?? "";
  const agents: AgentsRow = { kind: "agents", key: `agents-${stage.id}`, stage, selected: chosen };
  if (sideBySide) return [header, agents];
  const own = events.filter((event) => event.execution_id === null || event.execution_id === chosen);
  return [header, agents, ...entryRows(own)];
}

export function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** By which agents cite the result that an event is about; live events tell it among their facts only. */
export function evidenceIdOf(event: Pick<TimelineEvent, "metadata">): string | null {
  return text(event.metadata["evidence_id"]);
}

export function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
