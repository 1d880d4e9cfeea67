/** One clock for all times of the page: it ticks once a second, and only while somebody looks. */
import { useSyncExternalStore } from "react";

let now = new Date();
let timer: ReturnType<typeof setInterval> | undefined;
const observers = new Set<() => void>();

function tick(): void {
  if (document.hidden) return;
  now = new Date();
  for (const observer of observers) observer();
}

function observe(observer: () => void): () => void {
  observers.add(observer);
  if (observers.size === 1) {
    now = new Date();
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
