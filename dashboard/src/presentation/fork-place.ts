/** Pure module: where an investigation can be forked. */
import type { LLMCallItem, LLMInteractionKind, SessionDetail, StageType } from "@/wire/types";
import { plannedAgents } from "./agent-tree";
import { hasEnded } from "./statuses";

const AFTERWARDS: ReadonlySet<StageType> = new Set(["chat", "scoring"]);
/** Calls with which a step begins: the others belong to one that had begun. */
const BEGINS_STEP = { iteration: true, forced_conclusion: true, single_shot: true, correction: false, summarization: false } satisfies Record<LLMInteractionKind, boolean>;

export function beginsStep(kind: LLMInteractionKind): boolean {
  return BEGINS_STEP[kind];
}

/** The executions that can be forked: those of the plan, once the session has ended. */
export function forkable(session: Pick<SessionDetail, "status" | "stages">): ReadonlySet<string> {
  if (!hasEnded(session.status)) return new Set();
  return new Set(session.stages.filter((stage) => !AFTERWARDS.has(stage.stage_type)).flatMap((stage) => plannedAgents(stage).map((execution) => execution.id)));
}

/** The call of which an entry came: the last one with which the agent began a step before it. */
export function callBefore(calls: readonly LLMCallItem[], executionId: string, at: string): LLMCallItem | undefined {
  const moment = Date.parse(at);
  return calls.filter((call) => call.execution_id === executionId && beginsStep(call.kind) && Date.parse(call.started_at) <= moment).toSorted((a, b) => a.turn - b.turn).at(-1);
}
