/** Keyboard shortcuts of a page, in the notation of tinykeys: a key, or keys in sequence as in `g i`. */
import { createKeybindingsHandler } from "tinykeys";
import { useEffect, useEffectEvent } from "react";

const TEXT_ENTRY = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], [role=dialog], [role=listbox], [role=menu]";

/** Ignores keys typed into fields, unless Ctrl or ⌘ is held. With `capture`, these shortcuts take precedence over others. */
export function useShortcuts(shortcuts: Readonly<Record<string, () => void>>, { capture = false } = {}): void {
  const run = useEffectEvent((keys: string, event: KeyboardEvent) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    shortcuts[keys]?.();
  });
  const bound = Object.keys(shortcuts).join("\n");
  useEffect(() => {
    const bindings = bound.split("\n").flatMap((keys) => {
      const handler = (event: KeyboardEvent) => run(keys, event);
      // Keyboard layouts differ in whether Shift is needed for signs and digits.
      return /^[^a-z]$/i.test(keys) ? [[keys, handler] as const, [`Shift+${keys}`, handler] as const] : [[keys, handler] as const];
    });
    const onKeyDown = createKeybindingsHandler(Object.fromEntries(bindings));
    const listener = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof Element && event.target.closest(TEXT_ENTRY) !== null;
      if (!isTyping || event.ctrlKey || event.metaKey) onKeyDown(event);
    };
    window.addEventListener("keydown", listener, { capture });
    return () => window.removeEventListener("keydown", listener, { capture });
  }, [bound, capture]);
}
