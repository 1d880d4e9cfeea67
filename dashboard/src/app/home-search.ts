/** Pure module: the front page's address. It was the sessions' alone, and addresses from then still lead to sessions. */
import type { IncidentSearch } from "@/features/incidents/search";
import { readIncidentSearch } from "@/features/incidents/search";
import type { SessionSearch } from "@/features/sessions/search";
import { readSearch } from "@/features/sessions/search";

export type HomeSearch = SessionSearch & IncidentSearch;

export function readHomeSearch(raw: Record<string, unknown>): HomeSearch {
  return { ...readIncidentSearch(raw), ...readSearch(raw) };
}

export function isAboutSessions(search: HomeSearch): boolean {
  return [search.status, search.type, search.chain, search.sort, search.page, search.rows, search.columns].some((value) => value !== undefined);
}
