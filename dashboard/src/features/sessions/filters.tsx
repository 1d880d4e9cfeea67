/** The filter bar. Every filter lives in the address, so that a view can be sent to a colleague. */
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import type { ReactNode, RefObject } from "react";
import { useState } from "react";
import { alertTypes } from "@/api/alerts";
import { Choice, SearchBox } from "@/components/filter-fields";
import { PERIODS } from "@/components/search-words";
import { SESSION_FACES } from "@/presentation/statuses";
import { RangeFields } from "./range-fields";
import type { SessionSearch } from "./search";
import { leavesOut, readSearch, withoutFilters } from "./search";

// Beside the periods, which end now.
const CUSTOM = "custom";

interface FiltersProps {
  search: SessionSearch;
  onChange: (search: SessionSearch) => void;
  searchBox: RefObject<HTMLInputElement | null>;
  /** What else stands in the bar. */
  children?: ReactNode;
}

export function Filters({ search, onChange, searchBox, children }: FiltersProps) {
  const types = useQuery(alertTypes).data?.alert_types ?? [];
  const chains = [...new Set(types.map((type) => type.chain_id))].sort();
  const set = (change: { [Key in keyof SessionSearch]?: SessionSearch[Key] | undefined }) => {
    // Other sessions: their first page.
    const merged = { ...search, page: undefined, ...change };
    onChange(readSearch(merged));
  };
  const [ownRange, setOwnRange] = useState(false);
  const hasRange = search.since === undefined && (ownRange || search.from !== undefined || search.to !== undefined);
  const setPeriod = (chosen: string | undefined) => {
    setOwnRange(chosen === CUSTOM);
    set(chosen === CUSTOM ? { since: undefined } : { since: chosen as keyof typeof PERIODS, from: undefined, to: undefined });
  };
  return (
    <Stack component="search" direction="row" sx={{ flexWrap: "wrap", gap: 1, alignItems: "center" }}>
      <SearchBox label="Search alerts and analyses" text={search.text ?? ""} onText={(text) => set({ text })} box={searchBox} />
      <Choice label="Status" value={search.status ?? ""} onValue={(status) => set({ status })} all="Any status">
        {Object.entries(SESSION_FACES).map(([status, face]) => [status, face.label])}
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
      {hasRange && <RangeFields from={search.from} to={search.to} onRange={set} />}
      {leavesOut(search) && (
        <Button
          size="small"
          startIcon={<X size={15} />}
          onClick={() => {
            setOwnRange(false);
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

/** A link may name a type that the configuration no longer has. */
function withCurrent(names: string[], current: string | undefined): [string, string][] {
  const all = current === undefined || names.includes(current) ? names : [current, ...names];
  return all.map((name) => [name, name]);
}
