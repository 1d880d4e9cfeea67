/** Fields of forms and filter bars. */
import InputAdornment from "@mui/material/InputAdornment";
import MenuItem from "@mui/material/MenuItem";
import type { StackProps } from "@mui/material/Stack";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import { Search } from "lucide-react";
import type { RefObject } from "react";
import { useEffect, useEffectEvent, useState } from "react";

/** A form that is submitted and validated by script only. */
export function Form({ onSubmit, ...props }: Omit<StackProps, "onSubmit"> & { onSubmit: () => void }) {
  return (
    <Stack
      component="form"
      noValidate
      onSubmit={(event: React.SyntheticEvent) => {
        event.preventDefault();
        onSubmit();
      }}
      {...props}
    />
  );
}

// Long enough to search once per word rather than once per letter.
const TYPING_PAUSE_MS = 250;

interface SearchBoxProps {
  label: string;
  text: string;
  onText: (text: string) => void;
  /** How long typing has to pause before `onText` is called; 0 where no request is made. */
  pauseMs?: number;
  box?: RefObject<HTMLInputElement | null>;
}

/** The text of a field whose value is kept in another place, such as the address: `onText` is called when typing pauses. */
export function useTyped(text: string, onText: (text: string) => void, pauseMs = TYPING_PAUSE_MS): [string, (typed: string) => void] {
  const [typed, setTyped] = useState(text);
  const [shown, setShown] = useState(text);
  const [sent, setSent] = useState(text);
  if (text !== shown) {
    setShown(text);
    // The text that was sent comes back later and trimmed, when more may have been typed: only another text replaces it.
    if (text !== sent) {
      setSent(text);
      setTyped(text);
    }
  }
  const send = useEffectEvent(() => {
    const next = typed.trim();
    if (next === text) return;
    setSent(next);
    onText(next);
  });
  useEffect(() => {
    const timer = setTimeout(() => send(), pauseMs);
    return () => clearTimeout(timer);
  }, [typed, pauseMs]);
  return [typed, setTyped];
}

export function SearchBox({ label, text, onText, pauseMs = TYPING_PAUSE_MS, box }: SearchBoxProps) {
  const [typed, setTyped] = useTyped(text, onText, pauseMs);
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
  /** The label of the empty choice. */
  all: string;
  onValue: (value: string | undefined) => void;
  children: (readonly [value: string, label: string])[];
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
