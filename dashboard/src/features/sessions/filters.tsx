/** The filter bar of the session list. All filters are search parameters, so that a view can be shared by its address. */
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import type { ReactNode, RefObject } from "react";
import { useState } from "react";
import { alertTypes } from "@/api/alerts";
import { Choice, SearchBox, useTyped } from "@/components/fields";
import { PERIODS, timeParam } from "@/components/search-params";
import { SESSION_BADGES } from "@/presentation/statuses";
import { OUTCOME_BADGES, parseOutcome } from "@/presentation/verdict";
import type { SessionSearch } from "./search";
import { isFiltered, readSessionSearch, withoutFilters } from "./search";

// The choice of times instead of a period.
const CUSTOM = "custom";

interface FiltersProps {
  search: SessionSearch;
  onChange: (search: SessionSearch) => void;
  searchBox: RefObject<HTMLInputElement | null>;
  /** More controls in the bar. */
  children?: ReactNode;
}

export function Filters({ search, onChange, searchBox, children }: FiltersProps) {
  const types = useQuery(alertTypes).data?.alert_types ?? [];
  const chains = [...new Set(types.map((type) => type.chain_id))].sort();
  const set = (change: { [Key in keyof SessionSearch]?: SessionSearch[Key] | undefined }) => {
    // Other filters start at the first page.
    const merged = { ...search, page: undefined, ...change };
    onChange(readSessionSearch(merged));
  };
  const [isCustom, setIsCustom] = useState(false);
  const hasRange = search.since === undefined && (isCustom || search.from !== undefined || search.to !== undefined);
  const setPeriod = (chosen: string | undefined) => {
    setIsCustom(chosen === CUSTOM);
    set(chosen === CUSTOM ? { since: undefined } : { since: chosen as keyof typeof PERIODS, from: undefined, to: undefined });
  };
  return (
    <Stack component="search" direction="row" sx={{ flexWrap: "wrap", gap: 1, alignItems: "center" }}>
      <SearchBox label="Search alerts and analyses" text={search.text ?? ""} onText={(text) => set({ text })} box={searchBox} />
      <Choice label="Status" value={search.status ?? ""} onValue={(status) => set({ status })} all="Any status">
        {Object.entries(SESSION_BADGES).map(([status, badge]) => [status, badge.label])}
      </Choice>
      <Choice label="Verdict" value={search.verdict ?? ""} onValue={(verdict) => set({ verdict: parseOutcome(verdict) })} all="Any verdict">
        {Object.entries(OUTCOME_BADGES).map(([outcome, badge]) => [outcome, badge.label])}
      </Choice>
      <Choice label="Review" value={search.review ?? ""} onValue={(review) => set({ review: review as SessionSearch["review"] })} all="Any review">
        {[
          ["no", "Not reviewed"],
          ["yes", "Reviewed"],
        ]}
      </Choice>
      <Choice label="Alert type" value={search.type ?? ""} onValue={(type) => set({ type })} all="Any type">
        {withCurrent(types.map((type) => type.name), search.type)}
      </Choice>
      <Choice label="Chain" value={search.chain ?? ""} onValue={(chain) => set({ chain })} all="Any chain">
        {withCurrent(chains, search.chain)}
      </Choice>
      <Choice label="Submitted" value={hasRange ? CUSTOM : (search.since ?? "")} onValue={setPeriod} all="Any time">
        {[...Object.entries(PERIODS).map(([period, { label }]) => [period, label] as const), [CUSTOM, "From … until …"] as const]}
      </Choice>
      {hasRange && (
        <RangeFields
          from={search.from}
          to={search.to}
          onRange={(range) => {
            // The fields stay while one of them is emptied to be written anew.
            setIsCustom(true);
            set(range);
          }}
        />
      )}
      {isFiltered(search) && (
        <Button
          size="small"
          startIcon={<X size={15} />}
          onClick={() => {
            setIsCustom(false);
            onChange(withoutFilters(search));
          }}
        >
          Clear
        </Button>
      )}
      {children}
    </Stack>
  );
}

/** Includes a current value that the configuration no longer has. */
function withCurrent(names: string[], current: string | undefined): [string, string][] {
  const all = current === undefined || names.includes(current) ? names : [current, ...names];
  return all.map((name) => [name, name]);
}

/** The value of the browser's field: local time, to the minute. */
function localMinute(at: string | undefined): string {
  if (at === undefined) return "";
  const time = new Date(at);
  // Not by `getTimezoneOffset`: it has whole minutes, and a year that is being typed is before the time zones.
  const local = new Date(0);
  local.setUTCFullYear(time.getFullYear(), time.getMonth(), time.getDate());
  local.setUTCHours(time.getHours(), time.getMinutes());
  return local.toISOString().slice(0, 16);
}

interface RangeFieldsProps {
  from: string | undefined;
  to: string | undefined;
  onRange: (range: { from?: string | undefined; to?: string | undefined }) => void;
}

function RangeFields({ from, to, onRange }: RangeFieldsProps) {
  return (
    <>
      <TimeField label="From" at={from} onTime={(at) => onRange({ from: at, to })} />
      <TimeField label="Until" at={to} onTime={(at) => onRange({ from, to: at })} />
    </>
  );
}

function TimeField({ label, at, onTime }: { label: string; at: string | undefined; onTime: (at: string | undefined) => void }) {
  const [typed, setTyped] = useTyped(localMinute(at), (text) => onTime(timeParam(text)));
  return <TextField size="small" type="datetime-local" label={label} value={typed} onChange={(event) => setTyped(event.target.value)} slotProps={{ inputLabel: { shrink: true } }} />;
}
