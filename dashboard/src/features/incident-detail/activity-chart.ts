/** Pure module: an incident over time, as fractions of a chart's width and height. */
import type { Activity, ChangeItem } from "@/wire/types";

export interface Bar {
  /** Between 0 and 1, from the left. */
  left: number;
  width: number;
  /** Between 0 and 1, from the bottom. */
  firing: number;
  resolved: number;
  title: string;
}

export interface Mark {
  at: number;
  changes: ChangeItem[];
}

export interface Chart {
  begin: Date;
  end: Date;
  /** How often the alerts were heard of within the highest bar. */
  most: number;
  bars: Bar[];
  /** The changes, those that would cover each other together. */
  marks: Mark[];
}

// What is narrower cannot be seen or pointed at.
const NARROWEST = 0.006;
// What is wider is no bar any more, but a wall: an incident of a minute has one of them.
const WIDEST = 0.03;
// Marks that are nearer to each other than this are one.
const TOGETHER = 0.02;

interface Span {
  opened_at: string;
  resolved_at: string | null;
}

export function chartOf(activity: Activity, changes: ChangeItem[], incident: Span, now: Date): Chart {
  const width = activity.bar_seconds * 1_000;
  const bars = activity.bars.map((bar) => ({ ...bar, time: Date.parse(bar.at) }));
  const moments = changes.map((change) => Date.parse(change.at));
  const begin = Math.min(Date.parse(incident.opened_at), ...bars.map((bar) => bar.time), ...moments);
  const over = incident.resolved_at === null ? now.getTime() : Date.parse(incident.resolved_at);
  const end = Math.max(over, begin + width, ...bars.map((bar) => bar.time + width), ...moments);
  const place = (time: number) => (time - begin) / (end - begin);
  const most = Math.max(1, ...bars.map((bar) => bar.firing + bar.resolved));
  return {
    begin: new Date(begin),
    end: new Date(end),
    most,
    bars: bars.map((bar) => ({
      left: Math.min(place(bar.time), 1 - NARROWEST),
      width: Math.min(Math.max(width / (end - begin), NARROWEST), WIDEST),
      firing: bar.firing / most,
      resolved: bar.resolved / most,
      title: `${new Date(bar.time).toISOString().slice(11, 16)} UTC: ${bar.firing} firing, ${bar.resolved} resolved`,
    })),
    marks: together(changes.map((change) => ({ at: place(Date.parse(change.at)), changes: [change] }))),
  };
}

function together(marks: Mark[]): Mark[] {
  const found: Mark[] = [];
  for (const mark of [...marks].sort((one, other) => one.at - other.at)) {
    const last = found.at(-1);
    if (last && mark.at - last.at < TOGETHER) last.changes.push(...mark.changes);
    else found.push({ ...mark });
  }
  return found;
}
