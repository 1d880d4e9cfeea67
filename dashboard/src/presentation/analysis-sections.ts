/** Pure module: the sections of an analysis, by the headings that the agents are told to use. */
import { citedPlaces, markedLines, withoutCode } from "./citations";

const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;

export const DO_NOW = "do now";
export const RULED_OUT = "ruled out";

export interface Divided {
  /** Without its heading; null when the text has no such section. */
  section: string | null;
  rest: string;
}

/** Takes one section out of a text: from its heading to the next one that is not below it. */
export function takeSection(text: string, title: string): Divided {
  const lines = markedLines(text);
  const level = (line: string, inCode: boolean) => (inCode ? null : (HEADING.exec(line.trimEnd())?.[1]?.length ?? null));
  const from = lines.findIndex(([line, inCode]) => !inCode && titleOf(line) === title);
  const own = lines[from] && level(...lines[from]);
  if (!own) return { section: null, rest: text };
  const after = lines.findIndex((line, index) => index > from && (level(...line) ?? Infinity) <= own);
  const end = after < 0 ? lines.length : after;
  const joined = (some: typeof lines) => some.map(([line]) => line).join("");
  return { section: joined(lines.slice(from + 1, end)).trim(), rest: joined([...lines.slice(0, from), ...lines.slice(end)]).trim() };
}

function titleOf(line: string): string | null {
  return HEADING.exec(line.trimEnd())?.[2]?.replace(/^[\s*:#]+|[\s*:#]+$/g, "").toLowerCase() ?? null;
}

/** Words by which each action says what it risks, how to see that it worked, and how to undo it. */
const ASPECT = /(?<![\w`"“-])(?:Risk|Verify|Undo):(?=[\s*])/g;

export interface Span {
  start: number;
  end: number;
}

/** Where these words stand, outside of code and of quotations. */
export function aspects(text: string): Span[] {
  const prose = withoutCode(text).replace(/`[^`\n]*`/g, (code) => " ".repeat(code.length));
  const cited = citedPlaces(text);
  return [...prose.matchAll(ASPECT)]
    .map(({ index, 0: word }) => ({ start: index, end: index + word.length }))
    .filter(({ start }) => !cited.some((place) => place.start < start && start < place.end));
}
