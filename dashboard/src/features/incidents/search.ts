/** Pure module: the incident list's filters as they stand in the address, and as the API wants them. */
import type { IncidentFilter } from "@/api/incidents";
import type { Period } from "@/components/search-words";
import { beginOf, given, periodOf, word } from "@/components/search-words";
import { SEVERITY_FACES } from "@/presentation/incidents";
import { outcomeOf } from "@/presentation/verdict";
import type { Severity, VerdictOutcome } from "@/wire/types";

/** What is open is what is wrong: it is shown unless the reader asks for more. */
export const STATES = { open: "Open", resolved: "Resolved", all: "All" } as const;
export type ShownState = keyof typeof STATES;

export interface IncidentSearch {
  text?: string;
  state?: Exclude<ShownState, "open">;
  /** This one and worse. */
  severity?: Severity;
  source?: string;
  /** `name=value`, joined by commas. */
  label?: string;
  since?: Period;
  /** What the last investigation came to. */
  verdict?: VerdictOutcome;
}

const BY_WEIGHT = Object.keys(SEVERITY_FACES) as Severity[];

export function readIncidentSearch(raw: Record<string, unknown>): IncidentSearch {
  const state = (["resolved", "all"] as const).find((known) => known === word(raw["state"]));
  const severity = word(raw["severity"]);
  const labels = labelsOf(word(raw["label"]));
  return {
    ...given("text", word(raw["text"])),
    ...given("state", state),
    ...given("severity", BY_WEIGHT.find((known) => known === severity)),
    ...given("source", word(raw["source"])),
    ...given("label", labels.length > 0 ? labels.join(",") : undefined),
    ...given("since", periodOf(raw["since"])),
    ...given("verdict", outcomeOf(word(raw["verdict"]))),
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
    ...given("severity", search.severity && BY_WEIGHT.slice(0, BY_WEIGHT.indexOf(search.severity) + 1)),
    ...given("source", search.source === undefined ? undefined : [search.source]),
    ...given("label", labels.length > 0 ? labels : undefined),
    ...given("verdict", search.verdict && [search.verdict]),
    ...given("text", search.text),
    ...given("from", search.since && beginOf(search.since, now)),
  };
}
