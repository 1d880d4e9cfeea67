/** Copies a text and says that it did. */
import Button from "@mui/material/Button";
import IconButton from "@mui/material/IconButton";
import Tooltip from "@mui/material/Tooltip";
import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";

const SHOWN_MS = 1_500;

function useCopied(): [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (text: string) => {
    void navigator.clipboard.writeText(text).then(() => setCopied(true));
  };
  return [copied, copy];
}

export function CopyIcon({ text, label }: { text: () => string; label: string }) {
  const [copied, copy] = useCopied();
  return (
    <Tooltip title={copied ? "Copied" : label}>
      <IconButton size="small" aria-label={label} onClick={() => copy(text())}>
        {copied ? <Check size={15} /> : <Copy size={15} />}
      </IconButton>
    </Tooltip>
  );
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, copy] = useCopied();
  return (
    <Button size="small" startIcon={copied ? <Check size={15} /> : <Copy size={15} />} onClick={() => copy(text)}>
      {copied ? "Copied" : label}
    </Button>
  );
}
