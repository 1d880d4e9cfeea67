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

interface Field {
  name: string;
  value: string;
}

/** The fields of one object; `name` is its path in the data, empty for the outermost. */
export interface FieldGroup {
  name: string;
  fields: Field[];
}

// More fields are data to search in, not a table to read.
const MOST_FIELDS = 200;

/** The values of a JSON object, grouped by the objects that hold them; null for any other text, and for too many values. */
export function fieldsOf(text: string): FieldGroup[] | null {
  if (!text.trimStart().startsWith("{")) return null;
  const groups: FieldGroup[] = [];
  const collect = (value: object, path: string) => {
    const entries = Object.entries(value) as [string, unknown][];
    const plain = entries.filter(([, one]) => !isNested(one));
    if (plain.length > 0) groups.push({ name: path, fields: plain.map(([name, one]) => ({ name, value: Array.isArray(one) ? one.join(", ") : one === null ? "" : String(one as string | number | boolean) })) });
    for (const [name, one] of entries) {
      if (isNested(one)) collect(one, path === "" ? name : `${path}.${name}`);
    }
  };
  try {
    collect(JSON.parse(text) as object, "");
  } catch {
    // Not JSON, or nested too deeply.
    return null;
  }
  groups.sort((a, b) => rank(a.name) - rank(b.name));
  return groups.length > 0 && groups.reduce((sum, { fields }) => sum + fields.length, 0) <= MOST_FIELDS ? groups : null;
}

/** Labels say what an alert is about, annotations what it means; the rest is of the sender. */
function rank(path: string): number {
  return /labels$/i.test(path) ? 0 : /annotations$/i.test(path) ? 1 : 2;
}

const HEADING = /^## (.+)$/;
const LISTED_FIELD = /^- ([^=]+?) = (.*)$/;

/** The fields in the text of an incident, grouped by its alerts; null if there are none. */
export function incidentFields(text: string): FieldGroup[] | null {
  const groups: FieldGroup[] = [{ name: "", fields: [] }];
  for (const line of text.split("\n")) {
    const [, heading] = HEADING.exec(line) ?? [];
    const [, name, value] = LISTED_FIELD.exec(line) ?? [];
    if (heading !== undefined) groups.push({ name: heading, fields: [] });
    else if (name !== undefined && value !== undefined) groups.at(-1)?.fields.push({ name, value });
  }
  const filled = groups.filter(({ fields }) => fields.length > 0);
  return filled.length > 0 ? filled : null;
}

/** Whether a value is an object or an array that holds one. */
function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null && (!Array.isArray(value) || value.some((one) => typeof one === "object" && one !== null));
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
