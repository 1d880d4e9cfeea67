/** Copies a text and says that it did. */
import Button from "@mui/material/Button";
import IconButton from "@mui/material/IconButton";
import Tooltip from "@mui/material/Tooltip";
import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { copyText } from "./clipboard";

const SHOWN_MS = 1_500;

/** What became of the last copy, for a moment. */
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

/** A text that takes time to make is made when it is copied. `name` says more than the label to those who do not see what stands beside it. */
export function CopyButton({ text, label, name = label }: { text: string | (() => string); label: string; name?: string }) {
  const [outcome, copy] = useCopied();
  return (
    <Button size="small" aria-label={outcome ?? name} startIcon={outcome === "Copied" ? <Check size={15} /> : <Copy size={15} />} onClick={() => copy(typeof text === "string" ? text : text())}>
      {outcome ?? label}
    </Button>
  );
}
