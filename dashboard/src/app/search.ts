/** Search parameters of the home page and of a session's page. */
import { given, textParam } from "@/components/search-params";
import type { IncidentSearch } from "@/features/incidents/search";
import { readIncidentSearch } from "@/features/incidents/search";
import type { SessionSearch } from "@/features/sessions/search";
import { readSessionSearch } from "@/features/sessions/search";
import { isEvidenceId } from "@/presentation/citations";

type HomeSearch = SessionSearch & IncidentSearch;

/** The home page once showed sessions only; links from that time still work. */
export function readHomeSearch(raw: Record<string, unknown>): HomeSearch {
  return { ...readIncidentSearch(raw), ...readSessionSearch(raw) };
}

/** Whether a search has parameters that only the session list knows. */
export function isSessionSearch(search: HomeSearch): boolean {
  return [search.status, search.type, search.chain, search.sort, search.page, search.rows, search.columns].some((value) => value !== undefined);
}

interface SessionPageSearch {
  /** An event of the timeline. */
  event?: string;
  /** A tool result, and the words of it to mark. */
  evidence?: string;
  quote?: string;
}

export function readSessionPageSearch(raw: Record<string, unknown>): SessionPageSearch {
  const evidence = textParam(raw["evidence"]);
  const isOpen = evidence !== undefined && isEvidenceId(evidence);
  return { ...given("event", textParam(raw["event"])), ...(isOpen ? { evidence, ...given("quote", textParam(raw["quote"])) } : {}) };
}
