/** Pure module: what kind of data a text is, and how its lines are coloured. Exact enough for reading, not for parsing. */
export type DataFormat = "json" | "yaml" | "text";
export type TokenKind = "name" | "string" | "number" | "keyword" | "comment" | "plain";
export interface Token {
  kind: TokenKind;
  text: string;
}
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
// Deeper than this nobody counts levels, and the indentation would outgrow the text.
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

const JSON_TOKEN = new RegExp(`(${STRING})(\\s*:)?|(-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)|\\b(true|false|null)\\b`, "g");
const YAML_NAME = /^(\s*(?:- )*)([\w."'/-]+(?: [\w."'/-]+)*)(:)(?= |$)(.*)$/;
const YAML_VALUE = /^(\s*)(?:("(?:[^"\\]|\\.)*"|'[^']*')|(-?\d+(?:\.\d+)?)|(true|false|null|yes|no|~))(\s*)$/;

export function tokensOf(line: string, format: DataFormat): Token[] {
  switch (format) {
    case "json":
      return jsonTokens(line);
    case "yaml":
      return yamlTokens(line);
    case "text":
      return [{ kind: "plain", text: line }];
  }
}

function jsonTokens(line: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const match of line.matchAll(JSON_TOKEN)) {
    if (match.index > end) tokens.push({ kind: "plain", text: line.slice(end, match.index) });
    const [whole, text, colon, number] = match;
    if (text !== undefined) {
      tokens.push({ kind: colon === undefined ? "string" : "name", text });
      if (colon !== undefined) tokens.push({ kind: "plain", text: colon });
    } else {
      tokens.push({ kind: number === undefined ? "keyword" : "number", text: whole });
    }
    end = match.index + whole.length;
  }
  if (end < line.length) tokens.push({ kind: "plain", text: line.slice(end) });
  return tokens;
}

function yamlTokens(line: string): Token[] {
  if (/^\s*#/.test(line)) return [{ kind: "comment", text: line }];
  const named = YAML_NAME.exec(line);
  if (!named) return [{ kind: "plain", text: line }];
  const [, indent = "", name = "", colon = "", value = ""] = named;
  return [{ kind: "plain", text: indent }, { kind: "name", text: name }, { kind: "plain", text: colon }, ...yamlValue(value)];
}

function yamlValue(value: string): Token[] {
  const match = YAML_VALUE.exec(value);
  if (!match) return value === "" ? [] : [{ kind: "plain", text: value }];
  const [, before = "", text, number, , after = ""] = match;
  const kind: TokenKind = text !== undefined ? "string" : number !== undefined ? "number" : "keyword";
  return [
    { kind: "plain", text: before },
    { kind, text: value.slice(before.length, value.length - after.length) },
    { kind: "plain", text: after },
  ];
}
