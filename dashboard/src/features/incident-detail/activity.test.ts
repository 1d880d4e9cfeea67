import { expect, test } from "vitest";
import { formatClock } from "@/components/format";
import type { ChangeItem } from "@/wire/types";
import { chartOf } from "./activity";

const NOW = new Date("2026-03-01T12:00:00Z");
const INCIDENT = { opened_at: "2026-03-01T11:00:00Z", resolved_at: null, sessions: [] };

function change(at: string): ChangeItem {
  return { id: at, source: "argocd", title: `deployed at ${at}`, outcome: "succeeded", labels: {}, link: null, at };
}

test("bars stand at their time, as high as they were loud", () => {
  const bars = [
    { at: "2026-03-01T11:00:00Z", firing: 4, resolved: 0 },
    { at: "2026-03-01T11:30:00Z", firing: 1, resolved: 1 },
  ];
  const chart = chartOf({ bar_seconds: 60, bars }, [], INCIDENT, NOW);
  expect([chart.begin.toISOString(), chart.end.toISOString(), chart.most]).toEqual(["2026-03-01T11:00:00.000Z", "2026-03-01T12:00:00.000Z", 4]);
  expect(chart.bars.map(({ left, firing, resolved }) => [left, firing, resolved])).toEqual([
    [0, 1, 0],
    [0.5, 0.25, 0.25],
  ]);
  expect(chart.bars[1]?.title).toBe(`${formatClock(new Date("2026-03-01T11:30:00Z"))}: 1 firing, 1 resolved`);
  // As on the axis below.
  expect(chart.ticks[2]?.text).toBe(formatClock(new Date("2026-03-01T11:30:00Z")));
});

test("sessions are marked from their start to their end, with the tone of their verdict, and the axis has times", () => {
  const session = { id: "s", status: "completed", analysis_is_partial: false, waiting_for_model: false, started_at: "2026-03-01T11:15:00Z", completed_at: "2026-03-01T11:30:00Z", verdict: { outcome: "fault", confidence: "low" } } as never;
  const chart = chartOf({ bar_seconds: 60, bars: [] }, [], { ...INCIDENT, sessions: [session] }, NOW);
  expect(chart.sessions).toEqual([{ id: "s", left: 0.25, width: 0.25, verdict: "warning", title: "Session: Suspected fault" }]);
  expect(chart.ticks.map(({ at }) => at)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  expect(new Set(chart.ticks.map(({ text }) => text)).size).toBe(5);
});

test("a change before it all began widens the chart to its left", () => {
  const chart = chartOf({ bar_seconds: 60, bars: [{ at: INCIDENT.opened_at, firing: 1, resolved: 0 }] }, [change("2026-03-01T10:00:00Z")], INCIDENT, NOW);
  expect(chart.begin.toISOString()).toBe("2026-03-01T10:00:00.000Z");
  expect(chart.marks.map(({ at }) => at)).toEqual([0]);
  expect(chart.bars[0]?.left).toBe(0.5);
});

test("changes that would cover each other are one mark, and none is lost", () => {
  const changes = ["2026-03-01T11:30:20Z", "2026-03-01T11:30:00Z", "2026-03-01T11:50:00Z"].map(change);
  const { marks } = chartOf({ bar_seconds: 60, bars: [] }, changes, INCIDENT, NOW);
  expect(marks.map((mark) => mark.changes.length)).toEqual([2, 1]);
});

test("an incident that is over ends there, and one of a moment has a width", () => {
  const over = { ...INCIDENT, resolved_at: INCIDENT.opened_at };
  const chart = chartOf({ bar_seconds: 60, bars: [{ at: INCIDENT.opened_at, firing: 1, resolved: 1 }] }, [], over, NOW);
  expect(chart.end.toISOString()).toBe("2026-03-01T11:01:00.000Z");
  expect(chart.bars).toMatchObject([{ left: 0, width: 0.03, firing: 0.5, resolved: 0.5 }]);
});
