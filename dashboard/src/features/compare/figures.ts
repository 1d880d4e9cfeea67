/** Pure module: two sessions in the figures by which they are compared. */
import { formatCost, formatCount, formatDuration } from "@/components/format";
import { SESSION_FACES } from "@/presentation/statuses";
import { citationsLine, CONFIDENCE_FACES, objectOf, OUTCOME_FACES } from "@/presentation/verdict";
import type { SessionDetail, TraceList } from "@/wire/types";

export interface Figure {
  name: string;
  values: readonly [string, string];
}

/** What can be compared at a glance, in the order in which it matters. */
export function figuresOf(sessions: readonly [SessionDetail, SessionDetail], traces: readonly [TraceList | undefined, TraceList | undefined]): Figure[] {
  const each = (name: string, value: (session: SessionDetail, trace: TraceList | undefined) => string): Figure => ({ name, values: [value(sessions[0], traces[0]), value(sessions[1], traces[1])] });
  return [
    each("Status", ({ status }) => SESSION_FACES[status].label),
    each("Verdict", ({ verdict }) => (verdict ? OUTCOME_FACES[verdict.outcome].label : "none")),
    each("At fault", ({ verdict }) => (verdict && objectOf(verdict)) ?? "not named"),
    each("Because", ({ verdict }) => verdict?.mechanism ?? ""),
    each("Confidence", ({ verdict }) => (verdict ? CONFIDENCE_FACES[verdict.confidence].label : "")),
    each("Evidence", ({ citations }) => (citations ? citationsLine(citations) : "not checked")),
    each("Models", modelsOf),
    each("Turns", (_, trace) => (trace ? String(turnsOf(trace)) : "…")),
    each("Tool calls", (_, trace) => (trace ? String(trace.mcp.filter((call) => call.kind === "tool_call").length) : "…")),
    each("Tokens", ({ usage }) => formatCount(usage.total_tokens)),
    each("Cost", ({ cost }) => formatCost(cost) ?? "nothing"),
    each("Duration", ({ duration_ms: ms }) => (ms === null ? "" : formatDuration(ms))),
  ];
}

/** Calls of agents to their models: summaries of results are no turns. */
export function turnsOf(trace: TraceList): number {
  return trace.llm.filter((call) => call.kind !== "summarization").length;
}

function modelsOf({ stages, recorded }: SessionDetail): string {
  const names = [...new Set(stages.flatMap((stage) => stage.executions.map((execution) => execution.model_name)))].join(", ");
  return recorded ? `${names} (recorded)` : names;
}

const ID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/i;

/** The id of a session in what a person pasted: the id itself, or the address of one of its pages. */
export function idIn(pasted: string): string | null {
  return ID.exec(pasted)?.[0].toLowerCase() ?? null;
}
