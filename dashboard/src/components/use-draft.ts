/** What is being written, kept for as long as the tab is: a reload must not cost it. */
import { useCallback, useState } from "react";

const PREFIX = "draft:";

function stored(key: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + key) ?? "null");
  } catch {
    // Not ours, or there is no storage: then there is no draft.
    return null;
  }
}

function store(key: string, value: unknown): void {
  try {
    if (value === null) sessionStorage.removeItem(PREFIX + key);
    else sessionStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // Full or forbidden: it is written on, and lost with a reload.
  }
}

/** A state that is also stored under `key`, and the way to forget it. What was stored is believed if `isDraft` knows it. */
export function useDraft<T>(key: string, start: T, isDraft: (value: unknown) => value is T): [T, (value: T) => void, () => void] {
  const [draft, setDraft] = useState<T>(() => {
    const found = stored(key);
    return isDraft(found) ? found : start;
  });
  const write = useCallback(
    (value: T) => {
      setDraft(value);
      store(key, value);
    },
    [key],
  );
  const forget = useCallback(() => store(key, null), [key]);
  return [draft, write, forget];
}

/** For the one who leaves: the next at this screen must not read it. */
export function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage).filter((name) => name.startsWith(PREFIX))) sessionStorage.removeItem(key);
}
