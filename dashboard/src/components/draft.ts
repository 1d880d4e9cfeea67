/** Unsent text, stored for the lifetime of the tab so that a reload does not lose it. */
import type { SetStateAction } from "react";
import { useCallback, useRef, useState } from "react";
import { readStored, storedKeys, writeStored } from "./storage";

const PREFIX = "draft:";

function stored(key: string): unknown {
  try {
    return JSON.parse(readStored("sessionStorage", PREFIX + key) ?? "null");
  } catch {
    // Not a stored draft.
    return null;
  }
}

/** A state that is also stored under `key`, with a function that removes the stored copy. A stored value is used if `isDraft` accepts it. */
export function useDraft<T>(key: string, start: T, isDraft: (value: unknown) => value is T): [T, (next: SetStateAction<T>) => void, () => void] {
  const [draft, setDraft] = useState<T>(() => {
    const found = stored(key);
    return isDraft(found) ? found : start;
  });
  // For a change at the end of a request, when the component may have been removed.
  const newest = useRef(draft);
  const write = useCallback(
    (next: SetStateAction<T>) => {
      newest.current = next instanceof Function ? next(newest.current) : next;
      setDraft(newest.current);
      writeStored("sessionStorage", PREFIX + key, JSON.stringify(newest.current));
    },
    [key],
  );
  const clear = useCallback(() => writeStored("sessionStorage", PREFIX + key, null), [key]);
  return [draft, write, clear];
}

export function useTextDraft(key: string) {
  return useDraft(key, "", (value) => typeof value === "string");
}

/** Removes all drafts, when the user logs out. */
export function clearDrafts(): void {
  for (const key of storedKeys("sessionStorage").filter((name) => name.startsWith(PREFIX))) writeStored("sessionStorage", key, null);
}
