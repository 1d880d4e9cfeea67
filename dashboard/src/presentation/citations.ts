/** Citations in a text, by the same grammar as the server's: `[A7]`, `[A7: "exact words"]`, `[A3, A7]`; and the sections of an analysis.
 *
 * Citations are only found here. The server checks them. */
import { markdownLines } from "@/components/markdown-blocks";
import type { TextRange } from "@/components/structured-text";

const ID = String.raw`(?:ALERT|RUNBOOK|NOTE\d{1,4}|[A-Z]{1,2}\d{1,5}(?:\.\d{1,5}){0,2})`;
// The limits of the server's parser.
const LONGEST_QUOTATION = 1_000;
const MOST_CITATIONS = 500;

const WHOLE_ID = new RegExp(`^${ID}$`);
const OPEN = new RegExp(String.raw`\[(?=${ID}\s*[\]:,;])`, "gu");
const ONE_ID = new RegExp(String.raw`\s*(${ID})\s*`, "uy");
// The quotation ends at a quote that is followed by the next id or the end of the citation: tool results contain quotes themselves.
const QUOTED = new RegExp(String.raw`:\s*["“„«](.{1,${LONGEST_QUOTATION}}?)["”“»]\s*(?=\]|[,;]\s*${ID}\s*[\]:,;])`, "suy");

export interface CitedEvidence {
  evidenceId: string;
  quotation: string | null;
}

/** A bracket and the ids in it. */
interface CitationSpan extends TextRange {
  entries: readonly CitedEvidence[];
}

export function isEvidenceId(text: string): boolean {
  return WHOLE_ID.test(text);
}

/** Citations with the same key have the same check result. */
export function citationKey({ evidenceId, quotation }: CitedEvidence): string {
  return `${evidenceId}\n${quotation ?? ""}`;
}

/** Every citation of a text, in order. Code blocks hold commands and output, not citations. */
export function findCitations(text: string): CitationSpan[] {
  const prose = blankCode(text);
  const spans: CitationSpan[] = [];
  let position = 0;
  for (let tried = 0; tried < MOST_CITATIONS; tried += 1) {
    OPEN.lastIndex = position;
    const opened = OPEN.exec(prose);
    if (!opened) break;
    const { entries, end } = parseEntries(prose, opened.index + 1);
    if (entries.length > 0) spans.push({ start: opened.index, end, entries });
    position = end;
  }
  return spans;
}

/** The ids of one bracket with their quotations, and where it ends; no entries if it is not a citation after all. */
function parseEntries(text: string, from: number): { entries: CitedEvidence[]; end: number } {
  const entries: CitedEvidence[] = [];
  let position = from;
  for (let id = matchAt(ONE_ID, text, position); id; id = matchAt(ONE_ID, text, position)) {
    position += id[0].length;
    const quoted = matchAt(QUOTED, text, position);
    entries.push({ evidenceId: id[1] ?? "", quotation: quoted?.[1] ?? null });
    position += quoted?.[0].length ?? 0;
    if (text[position] === "]") return { entries, end: position + 1 };
    if (text[position] !== "," && text[position] !== ";") break;
    position += 1;
  }
  return { entries: [], end: position };
}

/** Matches a sticky pattern at a position. */
function matchAt(pattern: RegExp, text: string, position: number): RegExpExecArray | null {
  pattern.lastIndex = position;
  return pattern.exec(text);
}

/** The text with spaces in place of its code blocks, so that all offsets stay the same. */
function blankCode(text: string): string {
  if (!text.includes("```") && !text.includes("~~~")) return text;
  return markdownLines(text)
    .map(([line, inCode]) => (inCode ? line.replace(/[^\n]/g, " ") : line))
    .join("");
}

const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;

// The headings that the agents are prompted to use.
export const DO_NOW = "do now";
export const RULED_OUT = "ruled out";

/** Splits one section off a text: from its heading to the next heading of the same or a higher level. `section` is null if there is none. */
export function extractSection(text: string, title: string): { section: string | null; rest: string } {
  const lines = markdownLines(text);
  const headings = lines.map(([line, inCode]) => (inCode ? null : HEADING.exec(line.trimEnd())));
  const from = headings.findIndex((heading) => heading?.[2]?.replace(/^[\s*:#]+|[\s*:#]+$/g, "").toLowerCase() === title);
  const level = headings[from]?.[1]?.length;
  if (level === undefined) return { section: null, rest: text };
  const after = headings.findIndex((heading, index) => index > from && (heading?.[1]?.length ?? Infinity) <= level);
  const end = after < 0 ? lines.length : after;
  const join = (some: typeof lines) => some.map(([line]) => line).join("");
  return { section: join(lines.slice(from + 1, end)).trim(), rest: join([...lines.slice(0, from), ...lines.slice(end)]).trim() };
}

const ACTION_LABEL = /(?<![\w`"“-])(?:Risk|Verify|Undo):(?=[\s*])/g;

/** The labels that start the parts of a recommended action, outside of code and quotations. */
export function actionLabels(text: string): TextRange[] {
  const prose = blankCode(text).replace(/`[^`\n]*`/g, (code) => " ".repeat(code.length));
  const citations = findCitations(text);
  return [...prose.matchAll(ACTION_LABEL)]
    .map(({ index, 0: label }) => ({ start: index, end: index + label.length }))
    .filter(({ start }) => !citations.some((citation) => citation.start < start && start < citation.end));
}
