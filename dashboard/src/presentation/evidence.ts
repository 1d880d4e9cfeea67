/** Evidence that a text cites: links to it, the states of checked citations, and quotations found in it. */
import { CircleCheck, CircleDashed, Link2, TriangleAlert } from "lucide-react";
import { createContext } from "react";
import type { BadgeStyle } from "@/components/badge";
import type { TextRange } from "@/components/structured-text";
import type { Citation, CitationStatus, EvidenceDetail } from "@/wire/types";
import { citationKey } from "./citations";

/** The search parameters of a link to evidence, and to the quoted words in it. */
export interface EvidenceTarget {
  evidence: string;
  quote?: string;
}

export interface EvidenceLinks {
  sessionId: string;
  /** For a new tab, and to be copied. */
  hrefOf: (target: EvidenceTarget) => string;
  open: (target: EvidenceTarget) => void;
}

/** Null on pages that cannot show evidence: citations are plain text there. */
export const EvidenceLinksContext = createContext<EvidenceLinks | null>(null);

// Long enough to find the words again, short enough for an address.
const LONGEST_QUOTE = 200;

export function evidenceTarget(evidenceId: string, quotation: string | null): EvidenceTarget {
  return quotation === null ? { evidence: evidenceId } : { evidence: evidenceId, quote: quotation.slice(0, LONGEST_QUOTE) };
}

type CitationState = CitationStatus | "unchecked";

export const CITATION_BADGES = {
  quote_found: { label: "Verified", tone: "good", icon: CircleCheck },
  id_only: { label: "By id only", tone: "neutral", icon: Link2 },
  failed: { label: "Not verified", tone: "warning", icon: TriangleAlert },
  unchecked: { label: "Not checked", tone: "neutral", icon: CircleDashed },
} satisfies Record<CitationState, BadgeStyle>;

const STATE_TEXT = {
  quote_found: "these words are in the result",
  id_only: "the result is named, not quoted",
  failed: "this is not what the result says",
  unchecked: "citations are checked once the answer is complete",
} satisfies Record<CitationState, string>;

export function describeCitation(state: CitationState, reason = ""): string {
  return `${CITATION_BADGES[state].label}: ${reason === "" ? STATE_TEXT[state] : reason}.`;
}

/** Checked citations by `citationKey`. */
export type CheckedCitations = ReadonlyMap<string, Citation>;

export function citationsByKey(citations: readonly Citation[]): CheckedCitations {
  return new Map(citations.map((citation) => [citationKey({ evidenceId: citation.evidence_id, quotation: citation.quotation }), citation]));
}

export type CheckedCitation = Pick<Citation, "status" | "reason" | "nearest" | "found_start" | "found_end">;
const NOT_QUOTED: CheckedCitation = { status: "id_only", reason: "", nearest: "", found_start: null, found_end: null };

/** The check result for evidence that a verdict names: a failed citation of it if there is one. */
export function checkedEvidence(citations: readonly Citation[], evidenceId: string): CheckedCitation {
  const own = citations.filter((citation) => citation.evidence_id === evidenceId);
  return own.find(({ status }) => status === "failed") ?? own.find(({ status }) => status === "quote_found") ?? own[0] ?? NOT_QUOTED;
}

const WORST_FIRST = { failed: 0, id_only: 1, quote_found: 2 } satisfies Record<CitationStatus, number>;

/** Sorts failed citations first, and otherwise keeps the order of the text. */
export function worstFirst(citations: readonly Citation[]): Citation[] {
  return citations.toSorted((a, b) => WORST_FIRST[a.status] - WORST_FIRST[b.status]);
}

/** A range of the whole text, or of the folded text that agents see of large results. */
interface EvidenceRange extends TextRange {
  text: string;
  isFolded: boolean;
}

type EvidenceTexts = Pick<EvidenceDetail, "text" | "folded">;

/** The range of a checked citation: the quoted words, or the line most like them. */
export function citedRange({ text, folded }: EvidenceTexts, { found_start: start, found_end: end, nearest }: Pick<Citation, "found_start" | "found_end" | "nearest">): EvidenceRange | null {
  if (start === null || end === null) return findQuote({ text, folded }, nearest);
  const { length } = Array.from(text);
  if (end <= length) return { ...fromCharacters(text, start, end), text, isFolded: false };
  // The server counts on from the whole text to the folded one, with one character between them.
  return folded === null ? null : { ...fromCharacters(folded, start - length - 1, end - length - 1), text: folded, isFolded: true };
}

/** The server counts characters (code points), JavaScript counts UTF-16 units: an emoji is one and two. */
function fromCharacters(text: string, start: number, end: number): TextRange {
  const characters = Array.from(text);
  return { start: characters.slice(0, start).join("").length, end: characters.slice(0, end).join("").length };
}

/** The range of unchecked words, where white space between them may differ. */
export function findQuote({ text, folded }: EvidenceTexts, words: string): EvidenceRange | null {
  const quote = words.trim();
  if (quote === "") return null;
  const escaped = quote.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  const pattern = new RegExp(escaped.join(String.raw`\s+`));
  const find = (source: string, isFolded: boolean): EvidenceRange | null => {
    const exact = source.indexOf(quote);
    if (exact >= 0) return { start: exact, end: exact + quote.length, text: source, isFolded };
    const match = pattern.exec(source);
    return match && { start: match.index, end: match.index + match[0].length, text: source, isFolded };
  };
  return find(text, false) ?? (folded === null ? null : find(folded, true));
}

/** Words with some context before and after them. */
interface Excerpt {
  before: string;
  words: string;
  after: string;
}

const CONTEXT_LINES = 2;
const CONTEXT_CHARACTERS = 240;

export function excerpt(text: string, { start, end }: TextRange): Excerpt {
  const head = text.slice(Math.max(0, start - CONTEXT_CHARACTERS), start);
  const tail = text.slice(end, end + CONTEXT_CHARACTERS);
  const before = head.split("\n").slice(-CONTEXT_LINES - 1).join("\n");
  const after = tail.split("\n").slice(0, CONTEXT_LINES + 1).join("\n");
  return {
    before: head.length === before.length && start > head.length ? `…${before}` : before,
    words: text.slice(start, end),
    after: tail.length === after.length && end + tail.length < text.length ? `${after}…` : after,
  };
}
