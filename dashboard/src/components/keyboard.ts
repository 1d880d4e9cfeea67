/** Shortcuts that keep out of the way of typing and of the browser's own: single keys, and two keys one after the other. */
import { useEffect, useEffectEvent, useRef } from "react";

const TYPING = "input, textarea, select, [contenteditable], [role=dialog], [role=listbox], [role=menu]";

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(TYPING) !== null;
}

export function useShortcuts(keys: Readonly<Record<string, () => void>>): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event);
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  }, []);
}

// Longer than between two keys of one thought, shorter than between two thoughts.
const SECOND_KEY_WITHIN_MS = 1_000;

/** Two keys one after the other, written as `g i`. */
export function useKeyPairs(pairs: Readonly<Record<string, () => void>>): void {
  const first = useRef({ key: "", at: 0 });
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const before = event.timeStamp - first.current.at < SECOND_KEY_WITHIN_MS ? first.current.key : "";
    const action = pairs[`${before} ${event.key}`];
    first.current = { key: action ? "" : event.key, at: event.timeStamp };
    if (!action) return;
    event.preventDefault();
    // The second key may be a shortcut by itself.
    event.stopImmediatePropagation();
    action();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event);
    window.addEventListener("keydown", listener, { capture: true });
    return () => window.removeEventListener("keydown", listener, { capture: true });
  }, []);
}
