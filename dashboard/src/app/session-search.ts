/** Pure module: what the address of a session's page points at: an event of its timeline, or a result with the words quoted from it. */
import { given, word } from "@/components/search-words";
import { isEvidenceId } from "@/presentation/citations";

export interface SessionPageSearch {
  event?: string;
  evidence?: string;
  quote?: string;
}

export function readSessionPageSearch(raw: Record<string, unknown>): SessionPageSearch {
  const evidence = word(raw["evidence"]);
  const isOpen = evidence !== undefined && isEvidenceId(evidence);
  return { ...given("event", word(raw["event"])), ...(isOpen ? { evidence, ...given("quote", word(raw["quote"])) } : {}) };
}
