/** Unsent text, stored for the lifetime of the tab so that a reload does not lose it. */
import { useCallback, useState } from "react";

const PREFIX = "draft:";

function stored(key: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + key) ?? "null");
  } catch {
    // Not a stored draft, or there is no storage.
    return null;
  }
}

function store(key: string, value: unknown): void {
  try {
    if (value === null) sessionStorage.removeItem(PREFIX + key);
    else sessionStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // The storage is full or disabled: a reload loses the draft.
  }
}

/** A state that is also stored under `key`, with a function that removes the stored copy. A stored value is used if `isDraft` accepts it. */
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
  const clear = useCallback(() => store(key, null), [key]);
  return [draft, write, clear];
}

/** Removes all drafts, when the user logs out. */
export function clearDrafts(): void {
  for (const key of Object.keys(sessionStorage).filter((name) => name.startsWith(PREFIX))) sessionStorage.removeItem(key);
}
