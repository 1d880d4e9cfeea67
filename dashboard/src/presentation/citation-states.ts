/** Pure module: what is known of a citation. Every state has a face, or this does not compile. */
import { CircleCheck, CircleDashed, Link2, TriangleAlert } from "lucide-react";
import type { Face } from "@/components/badge";
import type { Citation, CitationStatus } from "@/wire/types";
import { citationKey } from "./citations";

export type CitationState = CitationStatus | "unchecked";

export const CITATION_FACES = {
  quote_found: { label: "Verified", tone: "good", icon: CircleCheck },
  id_only: { label: "Named only", tone: "neutral", icon: Link2 },
  failed: { label: "Not verified", tone: "warning", icon: TriangleAlert },
  unchecked: { label: "Not checked", tone: "neutral", icon: CircleDashed },
} satisfies Record<CitationState, Face>;

const SAID = {
  quote_found: "these words are in the result",
  id_only: "the result is named, not quoted",
  failed: "this is not what the result says",
  unchecked: "citations are checked once the answer is complete",
} satisfies Record<CitationState, string>;

/** What was found, in words for a reader. */
export function foundWords(state: CitationState, reason = ""): string {
  return `${CITATION_FACES[state].label}: ${reason === "" ? SAID[state] : reason}.`;
}

/** Checked citations by what they cite; the same words from the same result were checked alike wherever they stand. */
export type CheckedCitations = ReadonlyMap<string, Citation>;

export function byKey(citations: readonly Citation[]): CheckedCitations {
  return new Map(citations.map((one) => [citationKey({ evidenceId: one.evidence_id, quotation: one.quotation }), one]));
}

/** What is known of a result that a verdict names: the worst that was found in citing it, or that it was not quoted. */
export function checkedEvidence(citations: readonly Citation[], evidenceId: string): CheckedWords {
  const own = citations.filter((one) => one.evidence_id === evidenceId);
  return own.find((one) => one.status === "failed") ?? own.find((one) => one.status === "quote_found") ?? own[0] ?? NOT_QUOTED;
}

export type CheckedWords = Pick<Citation, "status" | "reason" | "nearest" | "found_start" | "found_end">;
const NOT_QUOTED: CheckedWords = { status: "id_only", reason: "", nearest: "", found_start: null, found_end: null };

const WORST_FIRST = { failed: 0, id_only: 1, quote_found: 2 } satisfies Record<CitationStatus, number>;

/** What a reader should look at first stands first; otherwise in the order of the text. */
export function worstFirst(citations: readonly Citation[]): Citation[] {
  return citations.toSorted((a, b) => WORST_FIRST[a.status] - WORST_FIRST[b.status]);
}
