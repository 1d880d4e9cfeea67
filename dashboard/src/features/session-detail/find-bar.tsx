/** Words to be found in the timeline and in the results of its tools. */
import IconButton from "@mui/material/IconButton";
import InputBase from "@mui/material/InputBase";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { ChevronDown, ChevronUp, Search } from "lucide-react";
import type { KeyboardEvent } from "react";
import { useDeferredValue, useMemo, useRef, useState } from "react";
import { useShortcuts } from "@/components/keyboard";
import type { StageView, TimelineEvent } from "@/wire/types";
import { findEntries, stepFrom } from "./find";

export interface Finding {
  words: string;
  setWords: (words: string) => void;
  /** How many entries hold the words, and which of them is shown; -1: none yet. */
  count: number;
  at: number;
  /** The event that is shown. */
  event: string | undefined;
  step: (by: 1 | -1) => void;
}

export function useFinding(stages: readonly StageView[], events: readonly TimelineEvent[]): Finding {
  const [words, setTyped] = useState("");
  const [event, setEvent] = useState<string>();
  // Megabytes are searched: typing goes first.
  const wanted = useDeferredValue(words);
  const found = useMemo(() => findEntries(stages, events, wanted), [stages, events, wanted]);
  const at = event === undefined ? -1 : found.indexOf(event);
  const setWords = (next: string) => {
    setTyped(next);
    setEvent(undefined);
  };
  const step = (by: 1 | -1) => {
    if (found.length > 0) setEvent(found[stepFrom(at, by, found.length)]);
  };
  return { words, setWords, count: found.length, at, event, step };
}

export function FindBar({ words, setWords, count, at, step }: Finding) {
  const box = useRef<HTMLInputElement>(null);
  useShortcuts({ "/": () => box.current?.focus() });
  const onKey = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "Escape") {
      setWords("");
      box.current?.blur();
    }
    if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  return (
    <Stack role="search" direction="row" sx={{ alignItems: "center", border: 1, borderColor: "divider", borderRadius: 1, pl: 1, my: -0.25, maxWidth: "100%" }}>
      <Search size={15} aria-hidden />
      <InputBase inputRef={box} type="search" placeholder="Find" value={words} onChange={(event) => setWords(event.target.value)} onKeyDown={onKey} inputProps={{ "aria-label": "Find in the timeline and its results", "aria-keyshortcuts": "/" }} sx={{ ml: 0.75, width: { xs: 110, sm: 170 } }} />
      {words.trim() !== "" && (
        <Typography variant="caption" color="textSecondary" role="status" sx={{ whiteSpace: "nowrap", fontVariantNumeric: "tabular-nums" }}>
          {count === 0 ? "not found" : at === -1 ? `${count} found` : `${at + 1} of ${count}`}
        </Typography>
      )}
      <IconButton size="small" aria-label="Previous place" disabled={count === 0} onClick={() => step(-1)}>
        <ChevronUp size={15} />
      </IconButton>
      <IconButton size="small" aria-label="Next place" disabled={count === 0} onClick={() => step(1)}>
        <ChevronDown size={15} />
      </IconButton>
    </Stack>
  );
}
