/** Where a page shows the evidence that its texts cite. A text outside of such a page shows its citations as they are written. */
import { createContext } from "react";

/** A result, and the words in it that a reader is pointed at. */
export interface EvidenceAddress {
  evidence: string;
  quote?: string;
}

export interface EvidenceDoor {
  sessionId: string;
  /** For a new tab, and to be copied. */
  hrefOf: (address: EvidenceAddress) => string;
  open: (address: EvidenceAddress) => void;
}

export const EvidenceDoorContext = createContext<EvidenceDoor | null>(null);

// Long enough to be found again, short enough for an address.
const LONGEST_QUOTE = 200;

export function addressOf(evidenceId: string, quotation: string | null): EvidenceAddress {
  return quotation === null ? { evidence: evidenceId } : { evidence: evidenceId, quote: quotation.slice(0, LONGEST_QUOTE) };
}
