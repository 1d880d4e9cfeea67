/** The events of a timeline as rows. A tool call and its result are one row. */
import type { ExecutionView, StageView, TimelineEvent } from "@/wire/types";

export interface ToolRow {
  kind: "tool";
  key: string;
  call: TimelineEvent | null;
  result: TimelineEvent | null;
  summary: TimelineEvent | null;
  /** Set if the row belongs to a sub-agent and is shown below the call that dispatched it. */
  subAgent?: ExecutionView;
}
interface EventRow {
  kind: "event";
  key: string;
  event: TimelineEvent;
  subAgent?: ExecutionView;
}
/** A call that dispatched a sub-agent. The sub-agent's own rows follow while it is open. */
export interface SubAgentRow {
  kind: "sub-agent";
  key: string;
  stage: StageView;
  execution: ExecutionView;
  call: TimelineEvent;
  /** Of the call. */
  result: TimelineEvent | null;
  /** The conclusion of the sub-agent, once there is one. */
  report: TimelineEvent | null;
  open: boolean;
}
/** At the end of a sub-agent's rows: leads back to the call that dispatched it. */
interface BackToCallRow {
  kind: "back-to-call";
  key: string;
  stage: StageView;
  execution: ExecutionView;
}
interface StageRow {
  kind: "stage";
  key: string;
  stage: StageView;
}
/** The tabs of the agents of a parallel stage. */
interface AgentsRow {
  kind: "agents";
  key: string;
  stage: StageView;
  selected: string;
}
export type EntryRow = ToolRow | EventRow;
/** A row of one agent, including its sub-agents. */
export type AgentTimelineRow = EntryRow | SubAgentRow | BackToCallRow;
export type TimelineRow = AgentTimelineRow | StageRow | AgentsRow;

/** The tool with which an agent dispatches a sub-agent. */
export const RUN_AGENT = "run_agent";

/** Servers of older versions do not send the parent. */
export function isSubAgent(execution: ExecutionView): boolean {
  return Boolean(execution.parent_execution_id);
}

/** The agents of the stage's plan, without sub-agents. */
export function plannedAgents(stage: StageView): ExecutionView[] {
  return stage.executions.filter((execution) => !isSubAgent(execution));
}

/** The sub-agent that a call of an agent dispatched. `metadata` is that of the call's event. */
export function dispatchedAgent(executions: readonly ExecutionView[], parentId: string | null, metadata: Readonly<Record<string, unknown>>): ExecutionView | undefined {
  if (metadata["tool_name"] !== RUN_AGENT) return undefined;
  return executions.find((execution) => isSubAgent(execution) && execution.parent_execution_id === parentId && execution.dispatched_by === metadata["evidence_id"]);
}

const TOOL_PART: Partial<Record<TimelineEvent["event_type"], "call" | "result" | "summary">> = { llm_tool_call: "call", tool_result: "result", mcp_tool_summary: "summary" };

/** Joins the events of a tool call, in the order of the first of them. */
export function entryRows(events: readonly TimelineEvent[]): EntryRow[] {
  const rows: EntryRow[] = [];
  const byCall = new Map<string, ToolRow>();
  for (const event of events) {
    const part = TOOL_PART[event.event_type];
    const callId = nonEmptyText(event.metadata["call_id"]);
    if (part === undefined || callId === null) {
      rows.push({ kind: "event", key: event.id, event });
      continue;
    }
    const key = `${event.execution_id ?? ""} ${callId}`;
    const known = byCall.get(key);
    if (known && known[part] === null) {
      known[part] = event;
      continue;
    }
    const row: ToolRow = { kind: "tool", key: event.id, call: null, result: null, summary: null, [part]: event };
    byCall.set(key, row);
    rows.push(row);
  }
  return rows;
}

export function rowEvents(row: TimelineRow): TimelineEvent[] {
  switch (row.kind) {
    case "event":
      return [row.event];
    case "tool":
      return [row.call, row.result, row.summary].filter((event) => event !== null);
    case "sub-agent":
      return row.result && row.result !== row.call ? [row.call, row.result] : [row.call];
    case "back-to-call":
    case "stage":
    case "agents":
      return [];
  }
}

/** The row with the current content of its events: rows are rebuilt only when an event is added or completed. */
export function withCurrentEvents<Row extends TimelineRow>(row: Row, currentEvent: (event: TimelineEvent) => TimelineEvent): Row {
  const current = (event: TimelineEvent | null) => event && currentEvent(event);
  switch (row.kind) {
    case "event":
      return { ...row, event: currentEvent(row.event) };
    case "tool":
      return { ...row, call: current(row.call), result: current(row.result), summary: current(row.summary) };
    case "sub-agent":
      return { ...row, report: current(row.report) };
    case "back-to-call":
    case "stage":
    case "agents":
      return row;
  }
}

/** All rows, by stage. Of a parallel stage, only those of the selected agent are included, and none if its agents are shown side by side. */
export function timelineRows(
  stages: readonly StageView[],
  events: readonly TimelineEvent[],
  selected: ReadonlyMap<string, string>,
  sideBySide: ReadonlySet<string> = new Set(),
  open: ReadonlySet<string> = new Set(),
): TimelineRow[] {
  const byStage = groupBy(events, (event) => event.stage_id);
  const known = new Set(stages.map((stage) => stage.id));
  const rows: TimelineRow[] = entryRows(byStage.get(null) ?? []);
  for (const stage of stages) rows.push(...stageRows(stage, byStage.get(stage.id) ?? [], selected, sideBySide.has(stage.id), open));
  // A stage that has just started is known when the session has been refetched.
  for (const [id, early] of byStage) if (id !== null && !known.has(id)) rows.push(...entryRows(early));
  return rows;
}

function stageRows(stage: StageView, events: TimelineEvent[], selected: ReadonlyMap<string, string>, sideBySide: boolean, open: ReadonlySet<string>): TimelineRow[] {
  const header: StageRow = { kind: "stage", key: `stage-${stage.id}`, stage };
  const planned = plannedAgents(stage);
  if (planned.length < 2) return [header, ...plannedAgentRows(stage, events, open)];
  const chosen = selected.get(stage.id) ?? planned[0]?.id ?? "";
  const agents: AgentsRow = { kind: "agents", key: `agents-${stage.id}`, stage, selected: chosen };
  if (sideBySide) return [header, agents];
  const own = events.filter((event) => event.execution_id === null || event.execution_id === chosen);
  return [header, agents, ...withSubAgents(entryRows(own), stage, events, open)];
}

/** The rows of all planned agents of a stage. */
export function plannedAgentRows(stage: StageView, events: readonly TimelineEvent[], open: ReadonlySet<string>): AgentTimelineRow[] {
  const subAgents = new Set(stage.executions.filter(isSubAgent).map((execution) => execution.id));
  const own = events.filter((event) => event.execution_id === null || !subAgents.has(event.execution_id));
  return withSubAgents(entryRows(own), stage, events, open);
}

/** The rows of one planned agent. */
export function agentRows(execution: ExecutionView, stage: StageView, events: readonly TimelineEvent[], open: ReadonlySet<string>): AgentTimelineRow[] {
  return withSubAgents(entryRows(events.filter((event) => event.execution_id === execution.id)), stage, events, open);
}

/** Replaces calls that dispatched a sub-agent by its row, followed by its own rows if it is open. */
function withSubAgents(rows: readonly EntryRow[], stage: StageView, events: readonly TimelineEvent[], open: ReadonlySet<string>): AgentTimelineRow[] {
  return rows.flatMap((row): AgentTimelineRow[] => {
    if (row.kind !== "tool") return [row];
    const call = row.call ?? row.result;
    const execution = call && dispatchedAgent(stage.executions, call.execution_id, call.metadata);
    if (!call || !execution) return [row];
    const own = events.filter((event) => event.execution_id === execution.id);
    const report = own.findLast((event) => event.event_type === "final_analysis") ?? null;
    const subAgent: SubAgentRow = { kind: "sub-agent", key: row.key, stage, execution, call, result: row.result, report, open: open.has(execution.id) };
    if (!subAgent.open) return [subAgent];
    return [subAgent, ...entryRows(own).map((entry) => ({ ...entry, subAgent: execution })), { kind: "back-to-call", key: `back-${execution.id}`, stage, execution }];
  });
}

/** The row of an agent: the call that dispatched it, the tabs in which it is selected, or its stage; -1 if it has to be selected first. */
export function indexOfAgent(rows: readonly TimelineRow[], stage: StageView, executionId: string, sideBySide: boolean): number {
  const index = rows.findIndex((row) => row.kind === "sub-agent" && row.execution.id === executionId);
  if (index >= 0) return index;
  const tabs = rows.findIndex((row) => row.kind === "agents" && row.stage.id === stage.id && (sideBySide || row.selected === executionId));
  return tabs >= 0 || plannedAgents(stage).length > 1 ? tabs : rows.findIndex((row) => row.kind === "stage" && row.stage.id === stage.id);
}

/** Whether the row is the report of a sub-agent, which its dispatching call shows as well. */
export function isReport(row: EntryRow): boolean {
  return row.subAgent !== undefined && row.kind === "event" && row.event.event_type === "final_analysis";
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

/** The id with which agents cite the result of an event. Live events have it in their metadata only. */
export function evidenceIdOf(event: Pick<TimelineEvent, "metadata">): string | null {
  return nonEmptyText(event.metadata["evidence_id"]);
}

export function nonEmptyText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
