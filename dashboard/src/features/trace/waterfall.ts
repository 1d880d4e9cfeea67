/** The model and tool calls of a session on one time axis. */
import { Brain, CircleX, Wrench } from "lucide-react";
import type { BadgeStyle } from "@/components/badge";
import { STARTS_STEP } from "@/presentation/forks";
import { dispatchedAgent } from "@/presentation/timeline-rows";
import { formatArguments } from "@/presentation/tool-lines";
import type { ExecutionView, LLMInteractionKind, MCPCallItem, SessionDetail, TraceList } from "@/wire/types";

export interface Call {
  /** "llm:…" or "mcp:…", as in the address. */
  key: string;
  kind: "llm" | "mcp";
  id: string;
  label: string;
  /** The arguments of a tool call, the task of a dispatched sub-agent, or the model of a model call. */
  detail: string;
  /** "cluster.pods_list"; null for model calls. */
  tool: string | null;
  /** The agent that made the call, and its execution. */
  agent: string;
  lane: string;
  /** The call that dispatched that agent, if it is a sub-agent. */
  parentCall: string | null;
  /** The sub-agent that this call dispatched. */
  dispatched: ExecutionView | null;
  /** In milliseconds since the first call. */
  start: number;
  duration: number;
  /** Time to the first token, in milliseconds; null for tool calls. */
  firstChunk: number | null;
  failed: boolean;
  /** The error message, or an empty text. */
  error: string;
  tokens: number | null;
  /** The cached share of the input, from 0 to 1; null if unknown. */
  cached: number | null;
  /** In US dollars; null for tool calls, and without a known price. */
  cost: number | null;
  /** The turn, if the call starts a step: an investigation can be forked there. */
  turn: number | null;
}

export interface Waterfall {
  calls: readonly Call[];
  /** From the start of the first call to the end of the last one. */
  span: number;
  /** Time in which at least one such call was running. */
  inModels: number;
  inTools: number;
  failed: number;
}

const KINDS = {
  iteration: "Turn",
  forced_conclusion: "Forced conclusion",
  correction: "Correction",
  single_shot: "Single answer",
  summarization: "Summary of a tool result",
  support: "Judgement of quotations",
} satisfies Record<LLMInteractionKind, string>;

export function waterfall(trace: TraceList, session: Pick<SessionDetail, "stages"> | undefined): Waterfall {
  const executions = session?.stages.flatMap((stage) => stage.executions) ?? [];
  const agents = new Map(executions.map((execution: ExecutionView) => [execution.id, execution.agent_name]));
  const dispatchedBy = (call: MCPCallItem) => dispatchedAgent(executions, call.execution_id, { tool_name: call.tool, evidence_id: call.evidence_id });
  const parentCalls = new Map(trace.mcp.map((call) => [dispatchedBy(call)?.id, `mcp:${call.id}`] as const));
  const begin = Math.min(...[...trace.llm, ...trace.mcp].map((call) => Date.parse(call.started_at)));
  const calls = [
    ...trace.llm.map((call): Call => ({
      key: `llm:${call.id}`,
      kind: "llm",
      id: call.id,
      label: call.kind === "iteration" ? `${KINDS.iteration} ${call.turn + 1}` : KINDS[call.kind],
      detail: call.model,
      tool: null,
      agent: agents.get(call.execution_id) ?? "",
      lane: call.execution_id,
      parentCall: parentCalls.get(call.execution_id) ?? null,
      dispatched: null,
      start: Date.parse(call.started_at) - begin,
      duration: call.duration_ms,
      firstChunk: call.first_chunk_ms,
      failed: call.error_message !== null,
      error: call.error_message ?? "",
      tokens: call.usage.total_tokens,
      cached: call.usage.input_tokens > 0 ? call.usage.cached_tokens / call.usage.input_tokens : null,
      cost: call.cost_usd,
      turn: STARTS_STEP[call.kind] ? call.turn : null,
    })),
    ...trace.mcp.map((call): Call => ({
      ...toolCallLabels(call, dispatchedBy(call)),
      key: `mcp:${call.id}`,
      kind: "mcp",
      id: call.id,
      agent: agents.get(call.execution_id) ?? "",
      lane: call.execution_id,
      parentCall: parentCalls.get(call.execution_id) ?? null,
      dispatched: dispatchedBy(call) ?? null,
      start: Date.parse(call.started_at) - begin,
      duration: call.duration_ms,
      firstChunk: null,
      failed: call.is_error,
      error: call.error_message ?? "",
      tokens: null,
      cached: null,
      cost: null,
      turn: null,
    })),
  ].sort((a, b) => a.start - b.start);
  return {
    calls,
    span: Math.max(1, ...calls.map((call) => call.start + call.duration)),
    inModels: covered(calls.filter((call) => call.kind === "llm")),
    inTools: covered(calls.filter((call) => call.kind === "mcp")),
    failed: calls.filter((call) => call.failed).length,
  };
}

/** A call that dispatched a sub-agent is labelled with the agent and its task. */
function toolCallLabels(call: MCPCallItem, dispatched: ExecutionView | undefined): Pick<Call, "label" | "detail" | "tool"> {
  const tool = call.kind === "tool_list" ? `${call.server}: list of tools` : `${call.server}.${call.tool ?? ""}`;
  return dispatched ? { tool, label: `${dispatched.agent_name} was sent`, detail: dispatched.task ?? "" } : { tool, label: tool, detail: formatArguments(call.arguments_start ?? "") };
}

/** The time that is covered by at least one of the calls, which are sorted by start. */
export function covered(calls: readonly Pick<Call, "start" | "duration">[]): number {
  let total = 0;
  let end = -Infinity;
  for (const call of calls) {
    const from = Math.max(call.start, end);
    const to = call.start + call.duration;
    if (to > from) total += to - from;
    end = Math.max(end, to);
  }
  return total;
}

const BADGES = {
  llm: { label: "Model", tone: "running", icon: Brain },
  mcp: { label: "Tool", tone: "good", icon: Wrench },
} satisfies Record<Call["kind"], BadgeStyle>;
const FAILED: BadgeStyle = { label: "Failed", tone: "bad", icon: CircleX };

export function callBadge(call: Pick<Call, "kind" | "failed">): BadgeStyle {
  return call.failed ? FAILED : BADGES[call.kind];
}

/** The kinds of bars, in the order of the legend. `name` is a CSS class. */
export const BARS = [
  { name: "bar-model", label: "Model", color: "info.main", has: (call: Call) => !call.failed && call.kind === "llm" },
  { name: "bar-tool", label: "Tool", color: "success.main", has: (call: Call) => !call.failed && call.kind === "mcp" },
  { name: "bar-failed", label: "Failed", color: "error.main", has: (call: Call) => call.failed },
] as const;

export type BarName = (typeof BARS)[number]["name"];

export function barClass(call: Call): BarName | "" {
  return BARS.find((bar) => bar.has(call))?.name ?? "";
}
