/** The shortcuts of every page: to other pages, the palette and the list of shortcuts. */
import { CatchBoundary, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { useShortcuts } from "@/components/shortcuts";
import { lazyImport } from "@/components/states";

const Palette = lazy(lazyImport(() => import("./palette")));
const ShortcutHelp = lazy(lazyImport(() => import("./shortcut-help")));

const isMac = typeof navigator !== "undefined" && /Mac|iP(hone|ad|od)/.test(navigator.userAgent);
export const PALETTE_KEYS = isMac ? ["⌘", "K"] : ["Ctrl", "K"];

export type OpenDialog = "palette" | "help" | null;

export function Shortcuts({ open, onOpen }: { open: OpenDialog; onOpen: (open: OpenDialog) => void }) {
  const navigate = useNavigate();
  const close = () => onOpen(null);
  useShortcuts(
    {
      "g i": () => void navigate({ to: "/incidents", search: {} }),
      "g s": () => void navigate({ to: "/sessions", search: {} }),
      "g n": () => void navigate({ to: "/alerts/new", search: {} }),
      "g r": () => void navigate({ to: "/reviews" }),
      "g u": () => void navigate({ to: "/usage" }),
      "g y": () => void navigate({ to: "/system" }),
      "?": () => onOpen("help"),
      "Control+k": () => onOpen("palette"),
      "Meta+k": () => onOpen("palette"),
    },
    { capture: true },
  );
  return (
    // A dialog that fails to load must not replace the page by an error.
    <CatchBoundary getResetKey={() => open ?? ""} errorComponent={() => null}>
      <Suspense fallback={null}>
        {open === "palette" && <Palette onClose={close} onHelp={() => onOpen("help")} />}
        {open === "help" && <ShortcutHelp onClose={close} />}
      </Suspense>
    </CatchBoundary>
  );
}
