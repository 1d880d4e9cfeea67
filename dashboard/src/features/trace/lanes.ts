/** Pure module: the calls of a trace in lanes, one for each agent. The lane of an agent that was sent stands behind the call that sent it. */
import { formatCount, formatDollars } from "@/components/format";
import { groupBy } from "@/presentation/timeline-rows";
import type { ExecutionView, SessionDetail } from "@/wire/types";
import type { TimeWindow } from "./axis";
import type { BarName } from "./call-face";
import { barClass } from "./call-face";
import type { Call } from "./waterfall";

export interface Lane {
  id: string;
  agent: string;
  stage: string;
  /** What it was sent for, if another agent sent it. */
  task: string | null;
  /** The call that sent it. */
  within: string | null;
  /** Its distance from the agent that the stage began with: 0 for that one itself. */
  depth: number;
  /** In the order of their starts. */
  calls: readonly Call[];
}

export type TraceRow = { kind: "lane"; key: string; lane: Lane; open: boolean; shown: number } | { kind: "call"; key: string; call: Call; depth: number };

export function lanesOf(calls: readonly Call[], session: Pick<SessionDetail, "stages"> | undefined): Lane[] {
  const known = new Map((session?.stages ?? []).flatMap((stage) => stage.executions.map((execution): [string, [ExecutionView, string]] => [execution.id, [execution, stage.stage_name]])));
  const byLane = groupBy(calls, (call) => call.lane);
  // In the order of the plan; those that the session does not know yet come last.
  const order = [...[...known.keys()].filter((id) => byLane.has(id)), ...[...byLane.keys()].filter((id) => !known.has(id))];
  const depthOf = (id: string | null | undefined): number => (id ? 1 + depthOf(known.get(id)?.[0].parent_execution_id) : -1);
  return order.map((id) => {
    const [execution, stage] = known.get(id) ?? [];
    const own = byLane.get(id) ?? [];
    return { id, agent: execution?.agent_name ?? "Agent", stage: stage ?? "", task: execution?.task ?? null, within: own[0]?.within ?? null, depth: depthOf(id), calls: own };
  });
}

export interface Shown {
  /** The lanes whose calls are hidden. */
  folded: ReadonlySet<string>;
  /** Only calls in this part of the axis; null: all. */
  window: TimeWindow | null;
  /** Only calls with all of these words. */
  words: string;
  /** Only calls of this kind; null: all. */
  only: BarName | null;
}

/** What is shown of the lanes: a lane that is folded is a line of its own all the same, and so are those of agents that its agent sent. */
export function traceRows(lanes: readonly Lane[], { folded, window, words, only }: Shown): TraceRow[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const isShown = (call: Call) => (only === null || barClass(call) === only) && (window === null || (call.start <= window.to && call.start + call.duration >= window.from)) && wanted.every((word) => textOf(call).includes(word));
  const sentBy = groupBy(lanes, (lane) => lane.within);

  const rowsOf = (lane: Lane): TraceRow[] => {
    const matching = new Set(lane.calls.filter(isShown));
    // What is searched for must not be hidden.
    const open = !folded.has(lane.id) || wanted.length > 0 || only !== null;
    const below = lane.calls.flatMap((call): TraceRow[] => [
      ...(open && matching.has(call) ? [{ kind: "call" as const, key: call.key, call, depth: lane.depth }] : []),
      ...(sentBy.get(call.key) ?? []).flatMap(rowsOf),
    ]);
    if (matching.size === 0 && below.length === 0) return [];
    return [{ kind: "lane", key: `lane-${lane.id}`, lane, open, shown: matching.size }, ...below];
  };
  return (sentBy.get(null) ?? []).flatMap(rowsOf);
}

const texts = new WeakMap<Call, string>();

function textOf(call: Call): string {
  const known = texts.get(call) ?? `${call.label} ${call.tool ?? ""} ${call.detail} ${call.agent} ${call.error}`.toLowerCase();
  texts.set(call, known);
  return known;
}

/** "12k tokens · 63 % cached · $0.0123"; empty for tools. */
export function usedLine(call: Pick<Call, "tokens" | "cached" | "cost">): string {
  const parts = [
    call.tokens === null ? null : `${formatCount(call.tokens)} tokens`,
    call.cached === null ? null : `${Math.round(100 * call.cached)} % cached`,
    call.cost === null ? null : formatDollars(call.cost),
  ];
  return parts.filter((part) => part !== null).join(" · ");
}

/** What all calls of a lane used together. */
export function laneUse(lane: Lane): string {
  const models = lane.calls.filter((call) => call.kind === "llm");
  const priced = models.filter((call) => call.cost !== null);
  return usedLine({
    tokens: models.length === 0 ? null : models.reduce((sum, call) => sum + (call.tokens ?? 0), 0),
    cached: null,
    cost: priced.length === 0 ? null : priced.reduce((sum, call) => sum + (call.cost ?? 0), 0),
  });
}

/** The bars of a lane's calls as one path in a box of 1000 by 10. Those that overlap are drawn as one: each of thousands would be too much to draw. */
export function barsPath(calls: readonly Call[], { from, to }: TimeWindow): string {
  const scale = 1_000 / (to - from);
  const bars: { left: number; right: number }[] = [];
  for (const call of calls) {
    const end = call.start + call.duration;
    if (call.start > to || end < from) continue;
    const left = Math.max(0, (call.start - from) * scale);
    const right = Math.max(left + 2, Math.min(1_000, (end - from) * scale));
    const last = bars.at(-1);
    if (last && left <= last.right) last.right = Math.max(last.right, right);
    else bars.push({ left, right });
  }
  return bars.map(({ left, right }) => `M${left.toFixed(1)} 0H${right.toFixed(1)}V10H${left.toFixed(1)}z`).join("");
}
