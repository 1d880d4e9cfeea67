/** Pure module: the calls of a session on one time axis. */
import { sentBy } from "@/presentation/agent-tree";
import type { ExecutionView, LLMInteractionKind, MCPCallItem, SessionDetail, TraceList } from "@/wire/types";

export interface Call {
  /** "llm:…" or "mcp:…": how the address names it. */
  key: string;
  kind: "llm" | "mcp";
  id: string;
  label: string;
  /** The agent that made it. */
  agent: string;
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
  tokens: number | null;
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
      agent: agents.get(call.execution_id) ?? "",
      within: senders.get(call.execution_id) ?? null,
      sent: null,
      start: Date.parse(call.started_at) - begin,
      duration: call.duration_ms,
      firstChunk: call.first_chunk_ms,
      failed: call.error_message !== null,
      tokens: call.usage.total_tokens,
    })),
    ...trace.mcp.map((call): Call => ({
      key: `mcp:${call.id}`,
      kind: "mcp",
      id: call.id,
      label: call.kind === "tool_list" ? `${call.server}: list of tools` : `${call.server}.${call.tool ?? ""}`,
      agent: agents.get(call.execution_id) ?? "",
      within: senders.get(call.execution_id) ?? null,
      sent: sentOf(executions, call)[0] ?? null,
      start: Date.parse(call.started_at) - begin,
      duration: call.duration_ms,
      firstChunk: null,
      failed: call.is_error,
      tokens: null,
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

/** The calls that are shown: those of an agent that was sent stand behind the call that sent it, unless it is folded. */
export function shownCalls(calls: readonly Call[], folded: ReadonlySet<string>): Call[] {
  const within = (key: string | null): Call[] =>
    calls.filter((call) => call.within === key).flatMap((call) => [call, ...(call.sent && !folded.has(call.key) ? within(call.key) : [])]);
  return within(null);
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
