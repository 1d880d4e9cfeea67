/** Fields of a filter bar. */
import InputAdornment from "@mui/material/InputAdornment";
import MenuItem from "@mui/material/MenuItem";
import TextField from "@mui/material/TextField";
import { Search } from "lucide-react";
import type { RefObject } from "react";
import { useEffect, useEffectEvent, useState } from "react";

// Between words rather than letters: a server is asked each time.
const TYPING_PAUSE_MS = 250;

interface SearchBoxProps {
  label: string;
  text: string;
  onText: (text: string) => void;
  /** How long the reader has to pause before it is told; 0 where the answer is in the page already. */
  pauseMs?: number;
  box?: RefObject<HTMLInputElement | null>;
}

export function SearchBox({ label, text, onText, pauseMs = TYPING_PAUSE_MS, box }: SearchBoxProps) {
  const [typed, setTyped] = useState(text);
  const [shown, setShown] = useState(text);
  const [sent, setSent] = useState(text);
  if (text !== shown) {
    setShown(text);
    // What we sent comes back later and trimmed: meanwhile the reader may have typed on.
    if (text !== sent) {
      setSent(text);
      setTyped(text);
    }
  }
  const settle = useEffectEvent(() => {
    const wanted = typed.trim();
    if (wanted === text) return;
    setSent(wanted);
    onText(wanted);
  });
  useEffect(() => {
    const timer = setTimeout(() => settle(), pauseMs);
    return () => clearTimeout(timer);
  }, [typed, pauseMs]);
  return (
    <TextField
      size="small"
      type="search"
      placeholder={label}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") box?.current?.blur();
      }}
      {...(box ? { inputRef: box } : {})}
      sx={{ flex: "1 1 200px", maxWidth: { md: 420 } }}
      slotProps={{
        htmlInput: { "aria-label": label, ...(box ? { "aria-keyshortcuts": "/" } : {}) },
        input: { startAdornment: <InputAdornment position="start"><Search size={16} aria-hidden /></InputAdornment> },
      }}
    />
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  all: string;
  onValue: (value: string | undefined) => void;
  children: (readonly [string, string])[];
}

export function Choice({ label, value, all, onValue, children }: ChoiceProps) {
  const known = value === "" || children.some(([name]) => name === value);
  return (
    <TextField
      select
      size="small"
      value={value}
      onChange={(event) => onValue(event.target.value === "" ? undefined : event.target.value)}
      sx={{ minWidth: { xs: "calc(50% - 4px)", sm: 122 }, flex: { xs: "1 1 40%", sm: "none" } }}
      slotProps={{ select: { displayEmpty: true, SelectDisplayProps: { "aria-label": label } }, htmlInput: { "aria-label": label } }}
    >
      <MenuItem value="">{all}</MenuItem>
      {!known && <MenuItem value={value}>{value.split(",").join(", ")}</MenuItem>}
      {children.map(([name, text]) => (
        <MenuItem key={name} value={name}>
          {text}
        </MenuItem>
      ))}
    </TextField>
  );
}
