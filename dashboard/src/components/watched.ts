/** The sessions that a reader wants to be told of, kept in the browser: other tabs and later visits know them too. */
import { useSyncExternalStore } from "react";

const KEY = "sessions:watched";
// The oldest is forgotten: a session that never ended here was deleted, or ended while no tab was open.
const MOST = 50;
const observers = new Set<() => void>();

function read(): string {
  return localStorage.getItem(KEY) ?? "";
}

function idsOf(text: string): string[] {
  return text.split(",").filter((id) => id !== "");
}

function write(ids: readonly string[]): void {
  localStorage.setItem(KEY, ids.slice(-MOST).join());
  for (const observer of observers) observer();
}

export function isWatched(id: string): boolean {
  return idsOf(read()).includes(id);
}

export function watch(id: string, wanted: boolean): void {
  const others = idsOf(read()).filter((known) => known !== id);
  write(wanted ? [...others, id] : others);
}

function observe(observer: () => void): () => void {
  observers.add(observer);
  window.addEventListener("storage", observer);
  return () => {
    observers.delete(observer);
    window.removeEventListener("storage", observer);
  };
}

export function useWatched(id: string): boolean {
  return idsOf(useSyncExternalStore(observe, read)).includes(id);
}
