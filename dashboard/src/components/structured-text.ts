/** Pure module: what kind of data a text is, and JSON laid out for reading. */
export type DataFormat = "json" | "yaml" | "text";
export interface ReadableData {
  format: DataFormat;
  text: string;
}

// A guess from the beginning is as good as one from the whole.
const LOOKED_AT = 40;
const YAML_LINE = /^\s*(- |[\w."'/-]+:( |$)|#|---)/;

/** JSON is laid out anew; everything else is left as it is. */
export function readable(text: string): ReadableData {
  const json = prettyJson(text);
  if (json !== null) return { format: "json", text: json };
  return { format: looksLikeYaml(text) ? "yaml" : "text", text };
}

/** The text laid out as JSON; null if it is none. Scalars alone are not worth calling JSON. */
export function prettyJson(text: string): string | null {
  const start = text.trimStart()[0];
  if (start !== "{" && start !== "[") return null;
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  return laidOut(text);
}

// There is one way to read it, and one that is not closed reaches to the end: hostile text cannot make it slow.
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"?/.source;
const JSON_PART = new RegExp(`${STRING}|[{}[\\],:]|[^\\s{}[\\],:"]+`, "g");
// Deeper than this no reader counts levels, and the indentation would outgrow the text.
const DEEPEST = 40;

/** Only white space changes: a number written anew would lose the digits beyond the sixteenth. */
function laidOut(json: string): string {
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
  const lines = text.split("\n", LOOKED_AT).filter((line) => line.trim() !== "");
  if (lines.length < 2) return false;
  const matching = lines.filter((line) => YAML_LINE.test(line)).length;
  return matching / lines.length > 0.8;
}
