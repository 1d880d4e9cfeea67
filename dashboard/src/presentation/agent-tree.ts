/** Pure module: which agents a stage planned, and which of them sent others. */
import type { ExecutionView, StageView } from "@/wire/types";

/** The tool by which an agent sends another one. */
export const RUN_AGENT = "run_agent";

/** Whether another agent sent it. Servers of older versions do not say. */
export function isSent(execution: ExecutionView): boolean {
  return Boolean(execution.parent_execution_id);
}

/** The agents of the plan, without those that they sent. */
export function plannedAgents(stage: StageView): ExecutionView[] {
  return stage.executions.filter((execution) => !isSent(execution));
}

/** The agent that a call of another one sent; `metadata` is that of the call's entry. */
export function sentBy(executions: readonly ExecutionView[], parentId: string | null, metadata: Readonly<Record<string, unknown>>): ExecutionView | undefined {
  if (metadata["tool_name"] !== RUN_AGENT) return undefined;
  return executions.find((execution) => isSent(execution) && execution.parent_execution_id === parentId && execution.dispatched_by === metadata["evidence_id"]);
}
