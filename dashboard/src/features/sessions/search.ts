/** Pure module: the list's filters as they stand in the address, and as the API wants them. */
import type { SessionFilter } from "@/api/sessions";
import { ACTIVE, ENDED } from "@/api/sessions";
import type { Period } from "@/components/search-words";
import { beginOf, given, periodOf, word } from "@/components/search-words";
import type { SessionStatus } from "@/wire/types";

export interface SessionSearch {
  text?: string;
  /** Joined by commas. */
  status?: string;
  type?: string;
  chain?: string;
  since?: Period;
}

const STATUSES: ReadonlySet<string> = new Set([...ACTIVE, ...ENDED]);

export function readSearch(raw: Record<string, unknown>): SessionSearch {
  const status = statusesOf(word(raw["status"]));
  return {
    ...given("text", word(raw["text"])),
    ...given("status", status.length > 0 ? status.join(",") : undefined),
    ...given("type", word(raw["type"])),
    ...given("chain", word(raw["chain"])),
    ...given("since", periodOf(raw["since"])),
  };
}

export function statusesOf(joined: string | undefined): SessionStatus[] {
  return (joined ?? "").split(",").filter((status): status is SessionStatus => STATUSES.has(status));
}

export function filterOf(search: SessionSearch, now: number): SessionFilter {
  const status = statusesOf(search.status);
  return {
    ...given("status", status.length > 0 ? status : undefined),
    ...given("alert_type", search.type),
    ...given("chain_id", search.chain),
    ...given("text", search.text),
    ...given("from", search.since && beginOf(search.since, now)),
  };
}
