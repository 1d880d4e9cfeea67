/** The filter bar. Every filter lives in the address, so that a view can be sent to a colleague. */
import Button from "@mui/material/Button";
import InputAdornment from "@mui/material/InputAdornment";
import MenuItem from "@mui/material/MenuItem";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import { useQuery } from "@tanstack/react-query";
import { Search, X } from "lucide-react";
import type { RefObject } from "react";
import { useEffect, useEffectEvent, useState } from "react";
import { alertTypes } from "@/api/alerts";
import { SESSION_FACES } from "@/presentation/statuses";
import type { SessionSearch } from "./search";
import { isFiltered, PERIODS, readSearch } from "./search";

const TYPING_PAUSE_MS = 250;

interface FiltersProps {
  search: SessionSearch;
  onChange: (search: SessionSearch) => void;
  searchBox: RefObject<HTMLInputElement | null>;
}

export function Filters({ search, onChange, searchBox }: FiltersProps) {
  const types = useQuery(alertTypes).data?.alert_types ?? [];
  const chains = [...new Set(types.map((type) => type.chain_id))].sort();
  const set = (change: { [Key in keyof SessionSearch]?: SessionSearch[Key] | undefined }) => {
    const merged = { ...search, ...change };
    onChange(readSearch(merged));
  };
  return (
    <Stack component="search" direction="row" sx={{ flexWrap: "wrap", gap: 1, alignItems: "center" }}>
      <SearchBox text={search.text ?? ""} onText={(text) => set({ text })} box={searchBox} />
      <Choice label="Status" value={search.status ?? ""} onValue={(status) => set({ status })} all="Any status">
        {Object.entries(SESSION_FACES).map(([status, face]) => [status, face.label])}
      </Choice>
      <Choice label="Alert type" value={search.type ?? ""} onValue={(type) => set({ type })} all="Any type">
        {withCurrent(types.map((type) => type.name), search.type)}
      </Choice>
      <Choice label="Chain" value={search.chain ?? ""} onValue={(chain) => set({ chain })} all="Any chain">
        {withCurrent(chains, search.chain)}
      </Choice>
      <Choice label="Submitted" value={search.since ?? ""} onValue={(since) => set({ since: since as keyof typeof PERIODS })} all="Any time">
        {Object.entries(PERIODS).map(([period, { label }]) => [period, label])}
      </Choice>
      {isFiltered(search) && (
        <Button size="small" startIcon={<X size={15} />} onClick={() => onChange({})}>
          Clear
        </Button>
      )}
    </Stack>
  );
}

/** A link may name a type that the configuration no longer has. */
function withCurrent(names: string[], current: string | undefined): [string, string][] {
  const all = current === undefined || names.includes(current) ? names : [current, ...names];
  return all.map((name) => [name, name]);
}

function SearchBox({ text, onText, box }: { text: string; onText: (text: string) => void; box: RefObject<HTMLInputElement | null> }) {
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
    const timer = setTimeout(() => settle(), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <TextField
      size="small"
      type="search"
      placeholder="Search alerts and analyses"
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Escape") box.current?.blur();
      }}
      inputRef={box}
      sx={{ flex: "1 1 240px", maxWidth: { md: 420 } }}
      slotProps={{
        htmlInput: { "aria-label": "Search alerts and analyses", "aria-keyshortcuts": "/" },
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

function Choice({ label, value, all, onValue, children }: ChoiceProps) {
  const known = value === "" || children.some(([name]) => name === value);
  return (
    <TextField
      select
      size="small"
      value={value}
      onChange={(event) => onValue(event.target.value === "" ? undefined : event.target.value)}
      sx={{ minWidth: { xs: "calc(50% - 4px)", sm: 132 }, flex: { xs: "1 1 40%", sm: "none" } }}
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
