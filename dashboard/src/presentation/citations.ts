/** Pure module: citations in a text, by the same grammar as the server's: `[A7]`, `[A7: "exact words"]`, `[A3, A7]`.
 *
 * Only where they stand is read here. Whether they are true, the server says. */

const ID = String.raw`(?:ALERT|RUNBOOK|NOTE\d{1,4}|[A-Z]{1,2}\d{1,5}(?:\.\d{1,5}){0,2})`;
// The server's limits: beyond them it reads no citation either.
const LONGEST_QUOTATION = 1_000;
const MOST_CITATIONS = 500;

const WHOLE_ID = new RegExp(`^${ID}$`);
const OPEN = new RegExp(String.raw`\[(?=${ID}\s*[\]:,;])`, "gu");
const ONE = new RegExp(String.raw`\s*(${ID})\s*`, "uy");
// The quotation ends at the quote that the citation goes on or ends after: results hold quotes themselves.
const QUOTED = new RegExp(String.raw`:\s*["“„«](.{1,${LONGEST_QUOTATION}}?)["”“»]\s*(?=\]|[,;]\s*${ID}\s*[\]:,;])`, "suy");
const NEXT = /[,;]/y;

export interface Cited {
  evidenceId: string;
  quotation: string | null;
}

/** A bracket with the ids in it. */
export interface CitedPlace {
  start: number;
  end: number;
  entries: readonly Cited[];
}

export function isEvidenceId(text: string): boolean {
  return WHOLE_ID.test(text);
}

/** Two citations with the same key were checked alike. */
export function citationKey({ evidenceId, quotation }: Cited): string {
  return `${evidenceId}\n${quotation ?? ""}`;
}

/** Every bracket of a text, in order; code blocks hold commands and output, not citations. */
export function citedPlaces(text: string): CitedPlace[] {
  const prose = withoutCode(text);
  const places: CitedPlace[] = [];
  let position = 0;
  for (let looked = 0; looked < MOST_CITATIONS; looked += 1) {
    OPEN.lastIndex = position;
    const opened = OPEN.exec(prose);
    if (!opened) break;
    const read = entriesFrom(prose, opened.index + 1);
    if (read.entries.length > 0) places.push({ start: opened.index, end: read.end, entries: read.entries });
    position = read.end;
  }
  return places;
}

/** The ids of one bracket with their quotations, and where it ends; none if it turns out not to be a citation. */
function entriesFrom(text: string, from: number): { entries: Cited[]; end: number } {
  const entries: Cited[] = [];
  let position = from;
  for (let one = at(ONE, text, position); one; one = at(ONE, text, position)) {
    position += one[0].length;
    const quoted = at(QUOTED, text, position);
    entries.push({ evidenceId: one[1] ?? "", quotation: quoted?.[1] ?? null });
    position += quoted?.[0].length ?? 0;
    if (text[position] === "]") return { entries, end: position + 1 };
    if (!at(NEXT, text, position)) break;
    position += 1;
  }
  return { entries: [], end: position };
}

function at(pattern: RegExp, text: string, position: number): RegExpExecArray | null {
  pattern.lastIndex = position;
  return pattern.exec(text);
}

// A line with its end, wherever the server sees one.
const ENDS = String.raw`\n\r\v\f\x1c-\x1e\x85\u2028\u2029`;
const LINE = new RegExp(String.raw`[^${ENDS}]*(?:\r\n|[${ENDS}]|$)`, "g");

/** The text with its code blocks blanked out, every offset unchanged. */
export function withoutCode(text: string): string {
  if (!text.includes("```") && !text.includes("~~~")) return text;
  return markedLines(text)
    .map(([line, inCode]) => (inCode ? line.replace(/[^\n]/g, " ") : line))
    .join("");
}

/** The lines of a Markdown text with their ends, each with whether it belongs to a fenced block. */
export function markedLines(text: string): [line: string, inCode: boolean][] {
  let fence = "";
  return (text.match(LINE) ?? []).map((line) => {
    const mark = fenceOf(line);
    if (fence === "") {
      fence = mark;
      return [line, mark !== ""];
    }
    // A block ends only at a fence of the same kind that is at least as long and says nothing more.
    if (mark !== "" && mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) fence = "";
    return [line, true];
  });
}

function fenceOf(line: string): string {
  return /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
}
