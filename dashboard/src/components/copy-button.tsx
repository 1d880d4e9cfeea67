/** Copying text to the clipboard, and buttons that do. */
import Button from "@mui/material/Button";
import IconButton from "@mui/material/IconButton";
import Tooltip from "@mui/material/Tooltip";
import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";

/** Returns whether the text was copied. The Clipboard API is missing on pages loaded by plain http from another machine. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const focused = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  field.style.opacity = "0";
  // An open dialog takes the focus back from everything outside of it.
  (focused?.closest("[role=dialog]") ?? document.body).append(field);
  field.focus({ preventScroll: true });
  field.select();
  // oxlint-disable-next-line typescript/no-deprecated -- the only way for a page loaded by plain http
  const copied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
  return copied;
}

const SHOWN_MS = 1_500;

/** The outcome of the last copy, for a moment. */
function useCopied(): ["Copied" | "Not copied" | null, (text: string) => void] {
  const [outcome, setOutcome] = useState<"Copied" | "Not copied" | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = (text: string) => {
    void copyText(text).then((copied) => setOutcome(copied ? "Copied" : "Not copied"));
  };
  return [outcome, copy];
}

export function CopyIcon({ text, label }: { text: () => string; label: string }) {
  const [outcome, copy] = useCopied();
  return (
    <Tooltip title={outcome ?? label}>
      <IconButton size="small" aria-label={outcome ?? label} onClick={() => copy(text())}>
        {outcome === "Copied" ? <Check size={15} /> : <Copy size={15} />}
      </IconButton>
    </Tooltip>
  );
}

/** `text` as a function is called when the button is pressed. `name` is the accessible name, where the label alone does not name the copied text. */
export function CopyButton({ text, label, name = label }: { text: string | (() => string); label: string; name?: string }) {
  const [outcome, copy] = useCopied();
  return (
    <Button size="small" aria-label={outcome ?? name} startIcon={outcome === "Copied" ? <Check size={15} /> : <Copy size={15} />} onClick={() => copy(typeof text === "string" ? text : text())}>
      {outcome ?? label}
    </Button>
  );
}
