/** The search parameters of the incident list, and the filter of the API for them. */
import type { IncidentFilter } from "@/api/incidents";
import type { Period } from "@/components/search-params";
import { periodStart, given, periodParam, textParam } from "@/components/search-params";
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
  };
}

export function labelsOf(joined: string | undefined): string[] {
  return (joined ?? "").split(",").map((label) => label.trim()).filter((label) => label.indexOf("=") > 0);
}

export function incidentFilterOf(search: IncidentSearch, now: number): IncidentFilter {
  const state = search.state ?? "open";
  const labels = labelsOf(search.label);
  return {
    ...given("state", state === "all" ? undefined : [state]),
    ...given("severity", search.severity && SEVERITIES.slice(0, SEVERITIES.indexOf(search.severity) + 1)),
    ...given("source", search.source === undefined ? undefined : [search.source]),
    ...given("label", labels.length > 0 ? labels : undefined),
    ...given("verdict", search.verdict && [search.verdict]),
    ...given("text", search.text),
    ...given("from", search.since && periodStart(search.since, now)),
  };
}
