/** Copying text to the clipboard, and buttons that do. */
import type { ButtonProps } from "@mui/material/Button";
import Button from "@mui/material/Button";
import type { IconButtonProps } from "@mui/material/IconButton";
import IconButton from "@mui/material/IconButton";
import Tooltip from "@mui/material/Tooltip";
import { Check, Copy } from "lucide-react";
import type { ReactNode } from "react";
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

/** A text, or a function that returns it when the button is pressed. */
type CopiedText = string | (() => string | Promise<string>);

/** The outcome of the last copy, for a moment. */
function useCopied(text: CopiedText): ["Copied" | "Not copied" | null, () => void] {
  const [outcome, setOutcome] = useState<"Copied" | "Not copied" | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async () => {
    try {
      setOutcome((await copyText(typeof text === "string" ? text : await text())) ? "Copied" : "Not copied");
    } catch {
      setOutcome("Not copied");
    }
  };
  return [outcome, () => void copy()];
}

export function CopyIcon({ text, label, icon = <Copy size={15} />, ...props }: Omit<IconButtonProps, "onClick"> & { text: CopiedText; label: string; icon?: ReactNode }) {
  const [outcome, copy] = useCopied(text);
  return (
    <Tooltip title={outcome ?? label}>
      <IconButton size="small" aria-label={outcome ?? label} onClick={copy} {...props}>
        {outcome === "Copied" ? <Check size={15} /> : icon}
      </IconButton>
    </Tooltip>
  );
}

/** `name` is the accessible name, where the label alone does not name the copied text. */
export function CopyButton({ text, label, name = label, icon = <Copy size={15} />, ...props }: Omit<ButtonProps, "onClick"> & { text: CopiedText; label: string; name?: string; icon?: ReactNode }) {
  const [outcome, copy] = useCopied(text);
  return (
    <Button size="small" aria-label={outcome ?? name} startIcon={outcome === "Copied" ? <Check size={15} /> : icon} onClick={copy} {...props}>
      {outcome ?? label}
    </Button>
  );
}
