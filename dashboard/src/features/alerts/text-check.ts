/** What an alert's text is, and what is wrong with it. An alert need not be valid anything: this only helps. */
import type { DataFormat } from "@/components/structured-text";
import { looksLikeYaml } from "@/components/structured-text";

export interface TextCheck {
  format: DataFormat;
  /** In words that continue a sentence: "line 3 …". */
  problem: string | null;
}

// Beyond this, the YAML parser would be felt with every key.
const PARSED_UP_TO = 60_000;

export async function checkText(text: string): Promise<TextCheck> {
  const trimmed = text.trim();
  if (trimmed.startsWith("{") || trimmed.startsWith("[")) return { format: "json", problem: await jsonProblem(text) };
  if (!looksLikeYaml(text)) return { format: "text", problem: null };
  return { format: "yaml", problem: await yamlProblem(text) };
}

async function yamlProblem(text: string): Promise<string | null> {
  if (text.length > PARSED_UP_TO) return null;
  const { parseDocument } = await import("yaml");
  const error = parseDocument(text, { prettyErrors: true }).errors[0];
  const line = error?.linePos?.[0].line;
  return error ? `line ${line ?? "?"}: ${firstLine(error.message)}` : null;
}

/** Browsers say where JSON breaks off, but each in its own way; the YAML parser reads JSON too and knows the line. */
async function jsonProblem(text: string): Promise<string | null> {
  try {
    JSON.parse(text);
    return null;
  } catch {
    return (await yamlProblem(text)) ?? "it is not quite valid";
  }
}

function firstLine(text: string): string {
  return lowerFirst((text.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, ""));
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
