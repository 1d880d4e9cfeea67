/** Pure module: the time axis of a trace, and the part of it that is looked at. */
import { formatDuration } from "@/components/format";

/** From and to, in milliseconds since the first call. */
export interface TimeWindow {
  from: number;
  to: number;
}

// Closer than this there is nothing more to see: times are told in whole milliseconds.
const NARROWEST_MS = 10;
// As many as can be read beside each other in half of a page.
const MOST_TICKS = 6;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000];

export function wholeOf(span: number): TimeWindow {
  return { from: 0, to: Math.max(1, span) };
}

export function isWhole(window: TimeWindow, span: number): boolean {
  return window.from <= 0 && window.to >= span;
}

/** `factor` below 1 looks closer. `at` stays where it is; without it, the middle does. */
export function zoomed(window: TimeWindow, factor: number, span: number, at = (window.from + window.to) / 2): TimeWindow {
  const width = Math.min(span, Math.max(NARROWEST_MS, (window.to - window.from) * factor));
  const share = (at - window.from) / (window.to - window.from);
  return inside({ from: at - width * share, to: at + width * (1 - share) }, span);
}

/** Moved along the axis by a share of what is seen. */
export function panned(window: TimeWindow, share: number, span: number): TimeWindow {
  const by = (window.to - window.from) * share;
  return inside({ from: window.from + by, to: window.to + by }, span);
}

/** What lies between two places of the axis, whichever comes first; null where that is too little to be meant. */
export function between(window: TimeWindow, start: number, end: number, span: number): TimeWindow | null {
  const [low, high] = start < end ? [start, end] : [end, start];
  if (high - low < 0.01) return null;
  const width = window.to - window.from;
  return zoomed({ from: window.from + low * width, to: window.from + high * width }, 1, span);
}

/** The window with all of `call` in it, moved or widened as little as that takes. */
export function holding(window: TimeWindow, call: { start: number; duration: number }, span: number): TimeWindow {
  const end = call.start + call.duration;
  if (call.start < window.to && end > window.from) return window;
  const width = window.to - window.from;
  const from = call.start - width / 4;
  return inside({ from, to: from + width }, span);
}

function inside({ from, to }: TimeWindow, span: number): TimeWindow {
  const width = to - from;
  const start = Math.min(Math.max(0, from), Math.max(0, span - width));
  return { from: start, to: start + width };
}

export interface Tick {
  at: number;
  label: string;
}

export function ticksOf({ from, to }: TimeWindow): Tick[] {
  const step = STEPS.find((candidate) => (to - from) / candidate <= MOST_TICKS) ?? Math.ceil((to - from) / MOST_TICKS / 3_600_000) * 3_600_000;
  const ticks: Tick[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push({ at, label: labelOf(at, step) });
  return ticks;
}

/** Two neighbours never have the same label. */
function labelOf(at: number, step: number): string {
  if (at === 0) return "0";
  if (at < 1_000 || step >= 1_000) return formatDuration(at);
  const digits = step >= 100 ? 1 : step >= 10 ? 2 : 3;
  return `${(at / 1_000).toFixed(digits)} s`;
}

/** Where a moment lies in the window, in percent. */
export function placeOf(at: number, { from, to }: TimeWindow): number {
  return (100 * (at - from)) / (to - from);
}

export interface Bar {
  /** Of the track, in percent. */
  left: number;
  width: number;
  /** `left` as a share of the room that the bar leaves, in percent: how CSS places a background. */
  along: number;
}

/** What of a time from `start` to `end` lies in the window. */
export function barOf(start: number, end: number, window: TimeWindow): Bar {
  const left = Math.min(100, Math.max(0, placeOf(start, window)));
  const width = Math.min(100, Math.max(0, placeOf(end, window))) - left;
  return { left, width, along: width < 100 ? (100 * left) / (100 - width) : 0 };
}
