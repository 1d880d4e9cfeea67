/** Pure module: the calls of a session on one time axis. */
import { sentBy } from "@/presentation/agent-tree";
import { beginsStep } from "@/presentation/fork-place";
import { argumentsLine } from "@/presentation/tool-lines";
import type { ExecutionView, LLMInteractionKind, MCPCallItem, SessionDetail, TraceList } from "@/wire/types";

export interface Call {
  /** "llm:…" or "mcp:…": how the address names it. */
  key: string;
  kind: "llm" | "mcp";
  id: string;
  label: string;
  /** What it was called with, on one line, or what the agent that it sent was to do; the model of a model's call. */
  detail: string;
  /** "cluster.pods_list"; null for models. */
  tool: string | null;
  /** The agent that made it, and its execution. */
  agent: string;
  lane: string;
  /** The call that sent that agent, if another one did. */
  within: string | null;
  /** The agent that this call sent. */
  sent: ExecutionView | null;
  /** From the first call on, in milliseconds. */
  start: number;
  duration: number;
  /** Until the first word of the answer; models only. */
  firstChunk: number | null;
  failed: boolean;
  /** Why it failed. */
  error: string;
  tokens: number | null;
  /** How much of what a model was sent its vendor had kept, from 0 to 1; null where that is not told. */
  cached: number | null;
  /** In US dollars; null where no price is known, and for tools. */
  cost: number | null;
  /** Which call of its conversation it was, if it began a step: there an investigation may be forked. */
  turn: number | null;
}

export interface Waterfall {
  calls: readonly Call[];
  /** From the first call's start to the last one's end. */
  span: number;
  /** Time in which at least one such call was under way. */
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
} satisfies Record<LLMInteractionKind, string>;

export function waterfall(trace: TraceList, session: Pick<SessionDetail, "stages"> | undefined): Waterfall {
  const executions = session?.stages.flatMap((stage) => stage.executions) ?? [];
  const agents = new Map(executions.map((execution: ExecutionView) => [execution.id, execution.agent_name]));
  const senders = new Map(trace.mcp.flatMap((call) => sentOf(executions, call).map((execution) => [execution.id, `mcp:${call.id}`] as const)));
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
      within: senders.get(call.execution_id) ?? null,
      sent: null,
      start: Date.parse(call.started_at) - begin,
      duration: call.duration_ms,
      firstChunk: call.first_chunk_ms,
      failed: call.error_message !== null,
      error: call.error_message ?? "",
      tokens: call.usage.total_tokens,
      cached: call.usage.input_tokens > 0 ? call.usage.cached_tokens / call.usage.input_tokens : null,
      cost: call.cost_usd,
      turn: beginsStep(call.kind) ? call.turn : null,
    })),
    ...trace.mcp.map((call): Call => ({
      ...toolFace(call, sentOf(executions, call)[0]),
      key: `mcp:${call.id}`,
      kind: "mcp",
      id: call.id,
      agent: agents.get(call.execution_id) ?? "",
      lane: call.execution_id,
      within: senders.get(call.execution_id) ?? null,
      sent: sentOf(executions, call)[0] ?? null,
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

function sentOf(executions: readonly ExecutionView[], call: MCPCallItem): ExecutionView[] {
  const execution = sentBy(executions, call.execution_id, { tool_name: call.tool, evidence_id: call.evidence_id });
  return execution ? [execution] : [];
}

/** A call that sent an agent goes by that agent and its task. */
function toolFace(call: MCPCallItem, sent: ExecutionView | undefined): Pick<Call, "label" | "detail" | "tool"> {
  const tool = call.kind === "tool_list" ? `${call.server}: list of tools` : `${call.server}.${call.tool ?? ""}`;
  return sent ? { tool, label: `${sent.agent_name} was sent`, detail: sent.task ?? "" } : { tool, label: tool, detail: argumentsLine(call.arguments_start ?? "") };
}

/** How much time lies inside at least one of the calls, which are in the order of their starts. */
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
