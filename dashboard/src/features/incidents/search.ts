/** The search parameters of the incident list, and the filter of the API for them. */
import type { IncidentFilter } from "@/api/incidents";
import type { Period } from "@/components/search-params";
import { given, periodParam, textParam } from "@/components/search-params";
import { SEVERITY_BADGES } from "@/presentation/incidents";
import { parseOutcome } from "@/presentation/verdict";
import type { Severity, VerdictOutcome } from "@/wire/types";

/** Open incidents are shown by default. */
export const STATES = { open: "Open", resolved: "Resolved", all: "All" } as const;
export type ShownState = keyof typeof STATES;

export interface IncidentSearch {
  text?: string;
  state?: Exclude<ShownState, "open">;
  /** This severity and worse. */
  severity?: Severity;
  source?: string;
  /** `name=value`, joined by commas. */
  label?: string;
  since?: Period;
  /** Of the last investigation. */
  verdict?: VerdictOutcome;
  /** The latest first; by default the worst are. */
  by?: "opened";
  /** The columns, joined by commas. */
  show?: string;
}

/** In the order of the list, with their widths in pixels. */
export const INCIDENT_COLUMNS = [
  { id: "verdict", label: "Verdict", width: 208 },
  { id: "alerts", label: "Alerts", width: 110 },
  { id: "source", label: "Source", width: 120 },
  { id: "route", label: "Route", width: 110 },
  { id: "cost", label: "Cost", width: 84 },
  { id: "state", label: "State", width: 84 },
  { id: "age", label: "Age", width: 84 },
] as const;
export type IncidentColumn = (typeof INCIDENT_COLUMNS)[number]["id"];

const DEFAULT_COLUMNS: readonly IncidentColumn[] = ["verdict", "alerts", "state", "age"];

/** The columns of the parameter, or the default ones. */
export function chosenColumns(joined: string | undefined): readonly IncidentColumn[] {
  const named = new Set(joined?.split(","));
  const known = INCIDENT_COLUMNS.map(({ id }) => id).filter((id) => named.has(id));
  return known.length > 0 ? known : DEFAULT_COLUMNS;
}

/** The parameter for these columns; undefined for the default ones. */
export function joinColumns(chosen: Iterable<IncidentColumn>): string | undefined {
  const ids = chosenColumns([...chosen].join()).join();
  return ids === DEFAULT_COLUMNS.join() ? undefined : ids;
}

/** Order and columns stay when the filters are cleared. */
export function withoutFilters({ by, show }: IncidentSearch): IncidentSearch {
  return { ...given("by", by), ...given("show", show) };
}

const SEVERITIES = Object.keys(SEVERITY_BADGES) as Severity[];

export function readIncidentSearch(raw: Record<string, unknown>): IncidentSearch {
  const state = (["resolved", "all"] as const).find((known) => known === textParam(raw["state"]));
  const severity = textParam(raw["severity"]);
  const labels = labelsOf(textParam(raw["label"]));
  return {
    ...given("text", textParam(raw["text"])),
    ...given("state", state),
    ...given("severity", SEVERITIES.find((known) => known === severity)),
    ...given("source", textParam(raw["source"])),
    ...given("label", labels.length > 0 ? labels.join(",") : undefined),
    ...given("since", periodParam(raw["since"])),
    ...given("verdict", parseOutcome(textParam(raw["verdict"]))),
    ...given("by", (["opened"] as const).find((known) => known === raw["by"])),
    ...given("show", joinColumns(chosenColumns(textParam(raw["show"])))),
  };
}

export function labelsOf(joined: string | undefined): string[] {
  return (joined ?? "").split(",").map((label) => label.trim()).filter((label) => label.indexOf("=") > 0);
}

/** `from` is the start of the period. */
export function incidentFilterOf(search: IncidentSearch, from?: string): IncidentFilter {
  const state = search.state ?? "open";
  const labels = labelsOf(search.label);
  return {
    sort: search.by ?? "severity",
    ...given("state", state === "all" ? undefined : [state]),
    ...given("severity", search.severity && SEVERITIES.slice(0, SEVERITIES.indexOf(search.severity) + 1)),
    ...given("source", search.source === undefined ? undefined : [search.source]),
    ...given("label", labels.length > 0 ? labels : undefined),
    ...given("verdict", search.verdict && [search.verdict]),
    ...given("text", search.text),
    ...given("from", from),
  };
}
