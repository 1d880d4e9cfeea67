/** The calls of a trace in lanes, one per agent. The lane of a sub-agent follows the call that dispatched it. */
import { useCallback, useMemo, useState } from "react";
import { formatCount, formatDollars } from "@/components/format";
import { groupBy } from "@/presentation/timeline-rows";
import type { ExecutionView, SessionDetail } from "@/wire/types";
import type { TimeWindow } from "./axis";
import { windowWith, isWhole, wholeWindow } from "./axis";
import type { BarName, Call, Waterfall } from "./waterfall";
import { barClass } from "./waterfall";

export interface Lane {
  id: string;
  agent: string;
  stage: string;
  /** The task of a sub-agent. */
  task: string | null;
  /** The call that dispatched it. */
  parentCall: string | null;
  /** 0 for planned agents, 1 for their sub-agents. */
  depth: number;
  /** Sorted by start. */
  calls: readonly Call[];
}

export type TraceRow = { kind: "lane"; key: string; lane: Lane; open: boolean; shown: number } | { kind: "call"; key: string; call: Call; depth: number };

export function lanesOf(calls: readonly Call[], session: Pick<SessionDetail, "stages"> | undefined): Lane[] {
  const known = new Map((session?.stages ?? []).flatMap((stage) => stage.executions.map((execution): [string, [ExecutionView, string]] => [execution.id, [execution, stage.stage_name]])));
  const byLane = groupBy(calls, (call) => call.lane);
  // In the order of the plan. Executions that the session does not know yet come last.
  const order = [...[...known.keys()].filter((id) => byLane.has(id)), ...[...byLane.keys()].filter((id) => !known.has(id))];
  const depthOf = (id: string | null | undefined): number => (id ? 1 + depthOf(known.get(id)?.[0].parent_execution_id) : -1);
  return order.map((id) => {
    const [execution, stage] = known.get(id) ?? [];
    const own = byLane.get(id) ?? [];
    return { id, agent: execution?.agent_name ?? "Agent", stage: stage ?? "", task: execution?.task ?? null, parentCall: own[0]?.parentCall ?? null, depth: depthOf(id), calls: own };
  });
}

interface TraceFilter {
  /** The lanes whose calls are hidden. */
  folded: ReadonlySet<string>;
  /** Only calls in this window; null for all. */
  window: TimeWindow | null;
  /** Only calls with all of these words. */
  words: string;
  /** Only calls of this kind; null for all. */
  only: BarName | null;
}

/** The rows of the lanes. A folded lane has its own row only, and so do the lanes of its sub-agents. */
export function traceRows(lanes: readonly Lane[], { folded, window, words, only }: TraceFilter): TraceRow[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (call: Call) => (only === null || barClass(call) === only) && (window === null || (call.start <= window.to && call.start + call.duration >= window.from)) && wanted.every((word) => textOf(call).includes(word));
  const byParent = groupBy(lanes, (lane) => lane.parentCall);

  const rowsOf = (lane: Lane): TraceRow[] => {
    const matching = new Set(lane.calls.filter(matches));
    // A filter opens all lanes, so that its matches are visible.
    const open = !folded.has(lane.id) || wanted.length > 0 || only !== null;
    const below = lane.calls.flatMap((call): TraceRow[] => [
      ...(open && matching.has(call) ? [{ kind: "call" as const, key: call.key, call, depth: lane.depth }] : []),
      ...(byParent.get(call.key) ?? []).flatMap(rowsOf),
    ]);
    if (matching.size === 0 && below.length === 0) return [];
    return [{ kind: "lane", key: `lane-${lane.id}`, lane, open, shown: matching.size }, ...below];
  };
  return (byParent.get(null) ?? []).flatMap(rowsOf);
}

const texts = new WeakMap<Call, string>();

function textOf(call: Call): string {
  const known = texts.get(call) ?? `${call.label} ${call.tool ?? ""} ${call.detail} ${call.agent} ${call.error}`.toLowerCase();
  texts.set(call, known);
  return known;
}

/** "12k tokens · 63 % cached · $0.0123"; empty for tool calls. */
export function usageText(call: Pick<Call, "tokens" | "cached" | "cost">): string {
  const parts = [
    call.tokens === null ? null : `${formatCount(call.tokens)} tokens`,
    call.cached === null ? null : `${Math.round(100 * call.cached)} % cached`,
    call.cost === null ? null : formatDollars(call.cost),
  ];
  return parts.filter((part) => part !== null).join(" · ");
}

/** The usage of all calls of a lane. */
export function laneUsage(lane: Lane): string {
  const models = lane.calls.filter((call) => call.kind === "llm");
  const priced = models.filter((call) => call.cost !== null);
  return usageText({
    tokens: models.length === 0 ? null : models.reduce((sum, call) => sum + (call.tokens ?? 0), 0),
    cached: null,
    cost: priced.length === 0 ? null : priced.reduce((sum, call) => sum + (call.cost ?? 0), 0),
  });
}

/** The bars of a lane's calls as one SVG path in a box of 1000 by 10. Overlapping bars are merged: there may be thousands. */
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

/** The state of the trace view: folded lanes, zoom, filters and the selected call. */
export function useLanes(flow: Waterfall, session: SessionDetail | undefined, selected: string | undefined, onSelect: (call: string) => void) {
  const { calls, span } = flow;
  const lanes = useMemo(() => lanesOf(calls, session), [calls, session]);
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [words, setWords] = useState("");
  const [only, setOnly] = useState<BarName | null>(null);
  // Null for all of the time, which grows while the session runs.
  const [zoomed, setZoomed] = useState<TimeWindow | null>(null);
  const rows = useMemo(() => traceRows(lanes, { folded, window: zoomed, words, only }), [lanes, folded, zoomed, words, only]);
  const shown = useMemo(() => rows.flatMap((row) => (row.kind === "call" ? [row.call] : [])), [rows]);
  const visible = useMemo(() => zoomed ?? wholeWindow(span), [zoomed, span]);
  const at = shown.findIndex((call) => call.key === selected);
  const allFolded = lanes.every((lane) => folded.has(lane.id));

  /** Unfolds the lane of the call, and moves the window to it. */
  const select = useCallback(
    (key: string) => {
      const chosen = calls.find((call) => call.key === key);
      if (chosen) {
        setFolded((before) => without(before, chosen.lane));
        setZoomed((before) => before && windowWith(before, chosen, span));
      }
      onSelect(key);
    },
    [calls, span, onSelect],
  );
  return {
    lanes,
    rows,
    shown,
    at,
    words,
    setWords,
    only,
    setOnly,
    allFolded,
    window: visible,
    select,
    onWindow: useCallback((next: TimeWindow) => setZoomed(isWhole(next, span) ? null : next), [span]),
    toggle: useCallback((lane: string) => setFolded((before) => (before.has(lane) ? without(before, lane) : new Set(before).add(lane))), []),
    foldAll: () => setFolded(new Set(allFolded ? [] : lanes.map((lane) => lane.id))),
    /** Selects the next or previous visible call. */
    move: (by: 1 | -1) => {
      const next = shown[at === -1 ? 0 : at + by];
      if (next) select(next.key);
    },
  };
}

function without(before: ReadonlySet<string>, lane: string): ReadonlySet<string> {
  return before.has(lane) ? new Set([...before].filter((other) => other !== lane)) : before;
}
