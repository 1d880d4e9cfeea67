/** Relative times and durations, kept current by one clock that follows the server's time. A screen reader does not announce its ticks, also within a live region. */
import { useSyncExternalStore } from "react";
import { formatDuration, formatExact, formatRelative } from "./format";

// The Date header has whole seconds, and the response took some time to arrive.
const TOLERANCE_MS = 2_500;

/** How far the server's clock is ahead of this machine's. */
let offset = 0;
let now = new Date();
let timer: ReturnType<typeof setInterval> | undefined;
const observers = new Set<() => void>();

function tick(): void {
  if (document.hidden) return;
  now = serverTimeIn(0);
  for (const observer of observers) observer();
}

/** The time in so many milliseconds by the server's clock, which decides when something ends. */
export function serverTimeIn(ms: number): Date {
  return new Date(Date.now() + offset + ms);
}

/** All times that are shown come from the server, so relative times are computed with its clock. */
export function syncServerTime(serverTime: number): void {
  const difference = serverTime - Date.now();
  if (Number.isNaN(serverTime) || Math.abs(difference - offset) <= TOLERANCE_MS) return;
  offset = Math.abs(difference) <= TOLERANCE_MS ? 0 : difference;
  tick();
}

/** The clock ticks once a second, and only while a component uses it. */
function observe(observer: () => void): () => void {
  observers.add(observer);
  if (observers.size === 1) {
    now = serverTimeIn(0);
    timer = setInterval(tick, 1_000);
  }
  return () => {
    observers.delete(observer);
    if (observers.size === 0) clearInterval(timer);
  };
}

function useNow(): Date {
  return useSyncExternalStore(observe, () => now);
}

/** The start of the current minute: components that use it render once a minute. */
export function useMinute(): number {
  return useSyncExternalStore(observe, () => Math.floor(now.getTime() / 60_000) * 60_000);
}

export function RelativeTime({ at }: { at: string }) {
  const time = new Date(at);
  return (
    <time dateTime={at} title={formatExact(time)} aria-live="off">
      {formatRelative(time, useNow())}
    </time>
  );
}

/** A duration; without `until`, the duration up to now. */
export function Elapsed({ since, until }: { since: string; until: string | null }) {
  return until === null ? <ElapsedSoFar since={since} /> : <>{formatDuration(Date.parse(until) - Date.parse(since))}</>;
}

function ElapsedSoFar({ since }: { since: string }) {
  // Whole seconds: with tenths, the width of the text would change with every tick.
  const seconds = Math.max(0, Math.floor((useNow().getTime() - Date.parse(since)) / 1_000));
  return <span aria-live="off">{seconds < 10 ? `${seconds} s` : formatDuration(seconds * 1_000)}</span>;
}
