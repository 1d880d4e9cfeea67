/** The shortcuts that every page has: ways to other pages, the palette, and the list of them all. */
import { CatchBoundary, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { useKeyPairs, useShortcuts } from "@/components/keyboard";
import { loadedLater } from "@/components/loaded-later";

const Palette = lazy(loadedLater(() => import("./palette")));
const ShortcutHelp = lazy(loadedLater(() => import("./shortcut-help")));

type Open = "palette" | "help" | null;

export function Shortcuts({ open, onOpen }: { open: Open; onOpen: (open: Open) => void }) {
  const navigate = useNavigate();
  useKeyPairs({
    "g i": () => void navigate({ to: "/incidents", search: {} }),
    "g s": () => void navigate({ to: "/sessions", search: {} }),
    "g n": () => void navigate({ to: "/alerts/new", search: {} }),
    "g u": () => void navigate({ to: "/usage" }),
    "g y": () => void navigate({ to: "/system" }),
  });
  useShortcuts({ "?": () => onOpen("help") });
  useEffect(() => {
    // Also while something is being typed: with Ctrl or ⌘ it is no letter.
    const listener = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      onOpen("palette");
    };
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  }, [onOpen]);
  const close = () => onOpen(null);
  return (
    // One that cannot be loaded must not take the page with it.
    <CatchBoundary getResetKey={() => open ?? ""} errorComponent={() => null}>
      <Suspense fallback={null}>
        {open === "palette" && <Palette onClose={close} onHelp={() => onOpen("help")} />}
        {open === "help" && <ShortcutHelp onClose={close} />}
      </Suspense>
    </CatchBoundary>
  );
}

export function useOpenDialog() {
  return useState<Open>(null);
}
