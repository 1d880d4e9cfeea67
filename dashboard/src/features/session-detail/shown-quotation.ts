/** Pure module: which of a result's quotations is shown, and where in its text that is. */
import type { SeenPlace } from "@/presentation/evidence-place";
import { placeOf, wordsIn } from "@/presentation/evidence-place";
import type { Citation, EvidenceDetail } from "@/wire/types";

/** The citation that an address speaks of; without words of its own, the first one that quotes. */
export function shownCitation(own: readonly Citation[], quote: string | undefined): Citation | null {
  if (quote === undefined) return own.find((one) => one.quotation !== null) ?? null;
  return own.find((one) => one.quotation === quote) ?? own.find((one) => one.quotation?.startsWith(quote)) ?? null;
}

/** What is marked: what checking found or, of words that were not checked, where they stand if they do. */
export function shownPlace(seen: EvidenceDetail, own: readonly Citation[], quote: string | undefined): SeenPlace | null {
  const citation = shownCitation(own, quote);
  return citation ? placeOf(seen, citation) : wordsIn(seen, quote ?? "");
}
