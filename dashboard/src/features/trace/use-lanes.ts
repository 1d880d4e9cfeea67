/** What is shown of a trace: which lanes are folded, which part of the time is looked at, which words and which kind of call are looked for, which call is chosen. */
import { useCallback, useMemo, useState } from "react";
import type { SessionDetail } from "@/wire/types";
import type { TimeWindow } from "./axis";
import { holding, isWhole, wholeOf } from "./axis";
import type { BarName } from "./call-face";
import { lanesOf, traceRows } from "./lanes";
import type { Waterfall } from "./waterfall";

export function useLanes(flow: Waterfall, session: SessionDetail | undefined, selected: string | undefined, onSelect: (call: string) => void) {
  const { calls, span } = flow;
  const lanes = useMemo(() => lanesOf(calls, session), [calls, session]);
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [words, setWords] = useState("");
  const [only, setOnly] = useState<BarName | null>(null);
  // Null: all of the time, however long that becomes.
  const [part, setPart] = useState<TimeWindow | null>(null);
  const rows = useMemo(() => traceRows(lanes, { folded, window: part, words, only }), [lanes, folded, part, words, only]);
  const shown = useMemo(() => rows.flatMap((row) => (row.kind === "call" ? [row.call] : [])), [rows]);
  const seen = useMemo(() => part ?? wholeOf(span), [part, span]);
  const at = shown.findIndex((one) => one.key === selected);
  const allFolded = lanes.every((lane) => folded.has(lane.id));

  /** A call that is chosen is in view: its lane is open, and the part of the time that is looked at has it. */
  const select = useCallback(
    (key: string) => {
      const chosen = calls.find((one) => one.key === key);
      if (chosen) {
        setFolded((before) => without(before, chosen.lane));
        setPart((before) => before && holding(before, chosen, span));
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
    seen,
    select,
    onWindow: useCallback((next: TimeWindow) => setPart(isWhole(next, span) ? null : next), [span]),
    toggle: useCallback((lane: string) => setFolded((before) => (before.has(lane) ? without(before, lane) : new Set(before).add(lane))), []),
    foldAll: () => setFolded(new Set(allFolded ? [] : lanes.map((lane) => lane.id))),
    /** To the next call that is shown, or the one before. */
    move: (by: 1 | -1) => {
      const next = shown[at === -1 ? 0 : at + by];
      if (next) select(next.key);
    },
  };
}

function without(before: ReadonlySet<string>, lane: string): ReadonlySet<string> {
  return before.has(lane) ? new Set([...before].filter((one) => one !== lane)) : before;
}
