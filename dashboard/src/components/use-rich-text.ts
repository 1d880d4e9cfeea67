/** Loads the Markdown renderer and the highlighter, a large script, when a component first needs them. */
import { useEffect, useSyncExternalStore } from "react";
import type * as RichText from "./rich-text";

type State = typeof RichText | "loading" | "failed";

let state: State = "loading";
let loading: Promise<void> | null = null;
const observers = new Set<() => void>();

function setState(next: State): void {
  state = next;
  for (const observer of observers) observer();
}

/** A failed import is repeated by the next component that needs the script. */
export function loadRichText(): void {
  if (typeof state === "object") return;
  loading ??= import("./rich-text").then(setState, () => setState("failed")).finally(() => {
    loading = null;
  });
}

/** All components render the loaded script in one update: no text moves because another one is rendered later. */
export function useRichText(needed = true): State {
  useEffect(() => {
    if (needed) loadRichText();
  }, [needed]);
  return useSyncExternalStore(observe, () => state);
}

function observe(observer: () => void): () => void {
  observers.add(observer);
  return () => observers.delete(observer);
}
