/** Pure module: where an investigation can be forked. */
import type { LLMCallItem, LLMInteractionKind, SessionDetail, StageType } from "@/wire/types";
import { hasEnded } from "./statuses";

const AFTERWARDS: ReadonlySet<StageType> = new Set(["chat", "scoring"]);
/** Calls with which a step begins: the others belong to one that had begun. */
const BEGINS_STEP = { iteration: true, forced_conclusion: true, single_shot: true, correction: false, summarization: false } satisfies Record<LLMInteractionKind, boolean>;

export function beginsStep(kind: LLMInteractionKind): boolean {
  return BEGINS_STEP[kind];
}

/** Calls that belong to a step which had begun. */
export const WITHIN_STEP = "This call belongs to a step that had begun: fork at the step's own call, the one before it.";

/** Why an execution cannot be forked, in a sentence for people; null if it can: one of the investigation, once the session has ended. */
export function forkRefusal({ status, stages }: Pick<SessionDetail, "status" | "stages">, executionId: string): string | null {
  if (!hasEnded(status)) return "The session still runs: fork it when it has ended.";
  const stage = stages.find(({ executions }) => executions.some(({ id }) => id === executionId));
  if (!stage) return "This agent is not known yet.";
  if (AFTERWARDS.has(stage.stage_type)) return "Questions and judgements cannot be forked: ask again, or fork a step of the investigation.";
  return null;
}

/** The step that a session goes on from, in words; a sub-agent also by the call that sent it. */
export function forkedStep({ agent, dispatched_by: call, turn }: NonNullable<SessionDetail["fork"]>): string {
  return `turn ${turn + 1} of ${agent}${call ? ` (${call})` : ""}`;
}

/** The call of which an entry came: the last one with which the agent began a step before it. */
export function callBefore(calls: readonly LLMCallItem[], executionId: string, at: string): LLMCallItem | undefined {
  const moment = Date.parse(at);
  return calls.filter((call) => call.execution_id === executionId && beginsStep(call.kind) && Date.parse(call.started_at) <= moment).toSorted((a, b) => a.turn - b.turn).at(-1);
}
