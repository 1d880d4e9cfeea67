/** Pure module: the events of a timeline as the rows a person reads. A tool call and its result are one row. */
import type { ExecutionView, StageView, TimelineEvent } from "@/wire/types";
import { isSent, plannedAgents, sentBy } from "./agent-tree";

export interface ToolRow {
  kind: "tool";
  key: string;
  call: TimelineEvent | null;
  result: TimelineEvent | null;
  summary: TimelineEvent | null;
  /** It is shown below the agent that was sent and did it. */
  within?: ExecutionView;
}
export interface EventRow {
  kind: "event";
  key: string;
  event: TimelineEvent;
  within?: ExecutionView;
}
/** A call that sent another agent: what for, and what it came back with. Its own rows follow while it is open. */
export interface SentRow {
  kind: "sent";
  key: string;
  stage: StageView;
  execution: ExecutionView;
  call: TimelineEvent;
  /** What the agent concluded, as far as it has. */
  report: TimelineEvent | null;
  open: boolean;
}
/** The way back from the end of a sub-agent's rows to the call that sent it. */
export interface BackRow {
  kind: "back";
  key: string;
  stage: StageView;
  execution: ExecutionView;
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
/** What one agent did, with those that it sent. */
export type AgentTimelineRow = EntryRow | SentRow | BackRow;
export type TimelineRow = AgentTimelineRow | StageRow | AgentsRow;

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
    case "sent":
      return [row.call];
    case "back":
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
    case "sent":
      return { ...row, report: fresh(row.report) };
    case "back":
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
  open: ReadonlySet<string> = new Set(),
): TimelineRow[] {
  const byStage = groupBy(events, (event) => event.stage_id);
  const known = new Set(stages.map((stage) => stage.id));
  const rows: TimelineRow[] = entryRows(events.filter((event) => event.stage_id === null));
  for (const stage of stages) rows.push(...stageRows(stage, byStage.get(stage.id) ?? [], selected, sideBySide.has(stage.id), open));
  // Their stage is known as soon as the session has been asked for again.
  for (const [id, early] of byStage) if (id !== null && !known.has(id)) rows.push(...entryRows(early));
  return rows;
}

function stageRows(stage: StageView, events: TimelineEvent[], selected: ReadonlyMap<string, string>, sideBySide: boolean, open: ReadonlySet<string>): TimelineRow[] {
  const header: StageRow = { kind: "stage", key: `stage-${stage.id}`, stage };
  const planned = plannedAgents(stage);
  if (planned.length < 2) return [header, ...rowsOfPlanned(stage, events, open)];
  const chosen = selected.get(stage.id) ?? planned[0]?.id ?? "";
  const agents: AgentsRow = { kind: "agents", key: `agents-${stage.id}`, stage, selected: chosen };
  if (sideBySide) return [header, agents];
  const own = events.filter((event) => event.execution_id === null || event.execution_id === chosen);
  return [header, agents, ...withSent(entryRows(own), stage, events, open)];
}

/** The rows of agents of the plan: all of a stage's events but those of agents that were sent, which stand behind the calls that sent them. */
export function rowsOfPlanned(stage: StageView, events: readonly TimelineEvent[], open: ReadonlySet<string>): AgentTimelineRow[] {
  const sent = new Set(stage.executions.filter(isSent).map((execution) => execution.id));
  const own = events.filter((event) => event.execution_id === null || !sent.has(event.execution_id));
  return withSent(entryRows(own), stage, events, open);
}

/** The rows of one agent of the plan. */
export function rowsOfAgent(execution: ExecutionView, stage: StageView, events: readonly TimelineEvent[], open: ReadonlySet<string>): AgentTimelineRow[] {
  return withSent(entryRows(events.filter((event) => event.execution_id === execution.id)), stage, events, open);
}

/** Where an agent stands among the rows: at the call that sent it, at the tabs that have chosen it, or at its stage; -1: not before it is chosen. */
export function rowOfAgent(rows: readonly TimelineRow[], stage: StageView, executionId: string, sideBySide: boolean): number {
  const index = rows.findIndex((row) => row.kind === "sent" && row.execution.id === executionId);
  if (index >= 0) return index;
  const tabs = rows.findIndex((row) => row.kind === "agents" && row.stage.id === stage.id && (sideBySide || row.selected === executionId));
  return tabs >= 0 || plannedAgents(stage).length > 1 ? tabs : rows.findIndex((row) => row.kind === "stage" && row.stage.id === stage.id);
}

/** The rows of an agent; where a call sent another one, that agent's own rows follow it while they are open. */
function withSent(rows: readonly EntryRow[], stage: StageView, events: readonly TimelineEvent[], open: ReadonlySet<string>): AgentTimelineRow[] {
  return rows.flatMap((row) => (row.kind === "tool" ? sentRows(row, stage, events, open) : null) ?? [row]);
}

/** Whether it is what an agent that was sent concluded, which stands at the call that sent it already. */
export function isReport(row: EntryRow): boolean {
  return row.within !== undefined && row.kind === "event" && row.event.event_type === "final_analysis";
}

function sentRows(row: ToolRow, stage: StageView, events: readonly TimelineEvent[], open: ReadonlySet<string>): AgentTimelineRow[] | null {
  const call = row.call ?? row.result;
  const execution = call && sentBy(stage.executions, call.execution_id, call.metadata);
  if (!execution) return null;
  const own = events.filter((event) => event.execution_id === execution.id);
  const report = own.findLast((event) => event.event_type === "final_analysis") ?? null;
  const sent: SentRow = { kind: "sent", key: row.key, stage, execution, call, report, open: open.has(execution.id) };
  if (!sent.open) return [sent];
  const back: BackRow = { kind: "back", key: `back-${execution.id}`, stage, execution };
  return [sent, ...entryRows(own).map((entry) => ({ ...entry, within: execution })), back];
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
