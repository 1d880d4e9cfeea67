/** The filter bar of the incident list. All filters are search parameters, so that a view can be shared by its address. */
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import { X } from "lucide-react";
import type { ReactNode, RefObject } from "react";
import { Choice, SearchBox } from "@/components/fields";
import { formatCount } from "@/components/format";
import { hasFilters, PERIODS } from "@/components/search-params";
import { Toggles } from "@/components/toggles";
import { SEVERITY_BADGES } from "@/presentation/incidents";
import { OUTCOME_BADGES } from "@/presentation/verdict";
import type { IncidentSearch, ShownState } from "./search";
import { readIncidentSearch, STATES, withoutFilters } from "./search";

interface Totals {
  open: number;
  resolved: number;
}

interface FiltersProps {
  search: IncidentSearch;
  onChange: (search: IncidentSearch) => void;
  searchBox: RefObject<HTMLInputElement | null>;
  totals: Totals | undefined;
  sources: string[];
  /** More controls in the bar. */
  children?: ReactNode;
}

export function Filters({ search, onChange, searchBox, totals, sources, children }: FiltersProps) {
  const set = (change: Record<string, string | undefined>) => onChange(readIncidentSearch({ ...search, ...change }));
  const known = search.source === undefined || sources.includes(search.source) ? sources : [search.source, ...sources];
  return (
    <Stack component="search" direction="row" sx={{ flexWrap: "wrap", gap: 1, alignItems: "center" }}>
      <States shown={search.state ?? "open"} totals={totals} onState={(state) => set({ state })} />
      <SearchBox label="Search incidents" text={search.text ?? ""} onText={(text) => set({ text })} box={searchBox} />
      <Choice label="Severity" value={search.severity ?? ""} onValue={(severity) => set({ severity })} all="Any severity">
        {Object.entries(SEVERITY_BADGES).map(([severity, badge]) => [severity, severity === "critical" ? badge.label : `${badge.label} and worse`])}
      </Choice>
      <Choice label="Source" value={search.source ?? ""} onValue={(source) => set({ source })} all="Any source">
        {known.map((source) => [source, source])}
      </Choice>
      <Choice label="Verdict" value={search.verdict ?? ""} onValue={(verdict) => set({ verdict })} all="Any verdict">
        {Object.entries(OUTCOME_BADGES).map(([outcome, badge]) => [outcome, badge.label])}
      </Choice>
      <Choice label="Opened" value={search.since ?? ""} onValue={(since) => set({ since })} all="Any time">
        {Object.entries(PERIODS).map(([period, { label }]) => [period, label])}
      </Choice>
      <SearchBox label="Label, such as cluster=eu1" text={search.label ?? ""} onText={(label) => set({ label })} />
      <Choice label="Order" value={search.by ?? ""} onValue={(by) => set({ by })} all="Worst first">
        {[["opened", "Latest first"]]}
      </Choice>
      {hasFilters({ ...search, by: undefined, show: undefined }) && (
        <Button size="small" startIcon={<X size={15} />} onClick={() => onChange(withoutFilters(search))}>
          Clear
        </Button>
      )}
      {children}
    </Stack>
  );
}

function States({ shown, totals, onState }: { shown: ShownState; totals: Totals | undefined; onState: (state: string) => void }) {
  const label = (state: ShownState) => (totals ? `${STATES[state]} ${formatCount(state === "all" ? totals.open + totals.resolved : totals[state])}` : STATES[state]);
  return <Toggles label="State" options={{ open: label("open"), resolved: label("resolved"), all: label("all") }} value={shown} onValue={onState} sx={{ px: 1.5 }} />;
}
