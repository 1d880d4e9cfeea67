/** One clock for all times of the page, the server's: it ticks once a second, and only while a component shows a time. */
import { useSyncExternalStore } from "react";

// The server says the time in whole seconds, and its word is under way for a moment.
const SAME_TIME_MS = 2_500;

/** How much the server's clock is ahead of this machine's. */
let ahead = 0;
let now = new Date();
let timer: ReturnType<typeof setInterval> | undefined;
const observers = new Set<() => void>();

function tick(): void {
  if (document.hidden) return;
  now = new Date(Date.now() + ahead);
  for (const observer of observers) observer();
}

/** All times that are shown were written by the server: what is past and how long something runs is said by its clock. */
export function serverTimeIs(at: number): void {
  const difference = at - Date.now();
  if (Number.isNaN(at) || Math.abs(difference - ahead) <= SAME_TIME_MS) return;
  ahead = Math.abs(difference) <= SAME_TIME_MS ? 0 : difference;
  tick();
}

function observe(observer: () => void): () => void {
  observers.add(observer);
  if (observers.size === 1) {
    now = new Date(Date.now() + ahead);
    timer = setInterval(tick, 1_000);
  }
  return () => {
    observers.delete(observer);
    if (observers.size === 0) clearInterval(timer);
  };
}

export function useNow(): Date {
  return useSyncExternalStore(observe, () => now);
}

/** For what need not be looked at every second. */
export function useMinute(): number {
  return useSyncExternalStore(observe, () => Math.floor(now.getTime() / 60_000) * 60_000);
}
