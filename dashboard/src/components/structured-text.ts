/** The format of a text, JSON formatted for reading, and ranges of a text found again in its formatted form. */

export type DataFormat = "json" | "yaml" | "text";
interface ReadableData {
  format: DataFormat;
  text: string;
}

// The first lines are enough to recognise YAML.
const YAML_LINES = 40;
const YAML_LINE = /^\s*(- |[\w."'/-]+:( |$)|#|---)/;

/** Formats JSON; any other text is returned as it is. */
export function readable(text: string): ReadableData {
  const json = prettyJson(text);
  if (json !== null) return { format: "json", text: json };
  return { format: looksLikeYaml(text) ? "yaml" : "text", text };
}

/** The formatted JSON; null if the text is not a JSON object or array. */
export function prettyJson(text: string): string | null {
  const start = text.trimStart()[0];
  if (start !== "{" && start !== "[") return null;
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  return formatted(text);
}

// An unclosed string extends to the end of the text: there is only one way to match, so no text makes the expression slow.
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"?/.source;
const JSON_PART = new RegExp(`${STRING}|[{}[\\],:]|[^\\s{}[\\],:"]+`, "g");
// Without a limit, the indentation of deeply nested data would be larger than the data.
const DEEPEST = 40;

/** Changes white space only: `JSON.stringify` would lose the digits of a number beyond the sixteenth. */
function formatted(json: string): string {
  const parts: string[] = [];
  let depth = 0;
  let opened = false;
  const line = () => parts.push("\n", "  ".repeat(Math.min(depth, DEEPEST)));
  for (const [part] of json.matchAll(JSON_PART)) {
    const closes = part === "}" || part === "]";
    if (closes) depth -= 1;
    if (opened !== closes) line();
    parts.push(part === ":" ? ": " : part);
    if (part === ",") line();
    opened = part === "{" || part === "[";
    if (opened) depth += 1;
  }
  return parts.join("");
}

export function looksLikeYaml(text: string): boolean {
  const lines = text.split("\n", YAML_LINES).filter((line) => line.trim() !== "");
  if (lines.length < 2) return false;
  const matching = lines.filter((line) => YAML_LINE.test(line)).length;
  return matching / lines.length > 0.8;
}

/** A part of a text, in UTF-16 units. */
export interface TextRange {
  start: number;
  end: number;
}

/** Finds a range of JSON in its formatted form, which has the same characters with other white space between them. */
export function rangeInFormatted(original: string, formattedText: string, { start, end }: TextRange): TextRange {
  if (original === formattedText) return { start, end };
  const first = solidBefore(original, start);
  const last = solidBefore(original, end);
  return { start: indexOfSolid(formattedText, first), end: last > first ? indexOfSolid(formattedText, last - 1) + 1 : indexOfSolid(formattedText, first) };
}

/** How many characters other than white space there are before `offset`. */
function solidBefore(text: string, offset: number): number {
  return text.slice(0, offset).replace(/\s/g, "").length;
}

/** The index of the character with so many others before it, white space not counted. */
function indexOfSolid(text: string, count: number): number {
  let found = -1;
  for (let index = 0; index < text.length; index += 1) {
    if (!/\s/.test(text.charAt(index))) found += 1;
    if (found === count) return index;
  }
  return text.length;
}

/** The parts of lines that belong to a range of the text, by line number from 0. */
export function rangesByLine(lines: readonly string[], { start, end }: TextRange): ReadonlyMap<number, TextRange> {
  const parts = new Map<number, TextRange>();
  let offset = 0;
  for (const [number, line] of lines.entries()) {
    const from = Math.max(start, offset);
    const to = Math.min(end, offset + line.length);
    if (from < to) parts.set(number, { start: from - offset, end: to - offset });
    offset += line.length + 1;
    if (offset > end) break;
  }
  return parts;
}
