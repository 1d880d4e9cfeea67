/** Forking: where an investigation can be continued as a new session. */
import { createContext } from "react";
import type { LLMCallItem, LLMInteractionKind, SessionDetail, StageType, TimelineEvent } from "@/wire/types";
import { hasEnded } from "./statuses";

/** A step of an agent: by its turn, or by the time of an entry that it produced. */
export type ForkPoint = { executionId: string; turn: number } | { executionId: string; at: string };

export interface ForkActions {
  /** Why an execution cannot be forked; null if it can. */
  refusal: (executionId: string) => string | null;
  open: (point: ForkPoint) => void;
}

/** Null where no model is available. */
export const ForkActionsContext = createContext<ForkActions | null>(null);

/** The event of the surrounding timeline entry. */
export const EntryEventContext = createContext<TimelineEvent | null>(null);

const NOT_FORKABLE: ReadonlySet<StageType> = new Set(["chat", "scoring"]);
/** Whether a call starts a step; the others belong to a step that has started. */
export const STARTS_STEP = { iteration: true, forced_conclusion: true, single_shot: true, correction: false, summarization: false, support: false } satisfies Record<LLMInteractionKind, boolean>;

export const NOT_A_STEP = "This call belongs to a step that had begun: fork at the step's own call, the one before it.";

/** Why an execution cannot be forked; null if it can. */
export function forkRefusal({ status, stages }: Pick<SessionDetail, "status" | "stages">, executionId: string): string | null {
  if (!hasEnded(status)) return "The session is still running: fork it after it has ended.";
  const stage = stages.find(({ executions }) => executions.some(({ id }) => id === executionId));
  if (!stage) return "This agent is not known yet.";
  if (NOT_FORKABLE.has(stage.stage_type)) return "Questions and scores cannot be forked: ask again, or fork a step of the investigation.";
  return null;
}

/** The step from which a fork continues. A sub-agent is named with the call that dispatched it. */
export function describeForkPoint({ agent, dispatched_by: call, turn }: NonNullable<SessionDetail["fork"]>): string {
  return `turn ${turn + 1} of ${agent}${call ? ` (${call})` : ""}`;
}

/** The call that produced an entry: the last one before it with which the agent started a step. */
export function callOfEntry(calls: readonly LLMCallItem[], executionId: string, at: string): LLMCallItem | undefined {
  const time = Date.parse(at);
  return calls.filter((call) => call.execution_id === executionId && STARTS_STEP[call.kind] && Date.parse(call.started_at) <= time).toSorted((a, b) => a.turn - b.turn).at(-1);
}

/** The session with the times of its own: a stage that it shares with the session it was forked from began for it when it began itself. */
export function withOwnTimes(session: SessionDetail): SessionDetail {
  if (session.fork === null) return session;
  const begun = session.started_at ?? session.created_at;
  const own = <Run extends { started_at: string | null; completed_at: string | null }>(run: Run): Run =>
    run.started_at !== null && run.started_at < begun && (run.completed_at === null || run.completed_at > begun) ? { ...run, started_at: begun } : run;
  return { ...session, stages: session.stages.map((stage) => ({ ...own(stage), executions: stage.executions.map(own) })) };
}
