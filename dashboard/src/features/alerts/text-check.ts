/** What an alert's text is, and what is wrong with it. An alert need not be valid anything: this only helps. */
import type { DataFormat } from "@/components/structured-text";
import { looksLikeYaml } from "@/components/structured-text";

export interface TextCheck {
  format: DataFormat;
  /** In words that continue a sentence: "line 3 …". */
  problem: string | null;
}

export async function checkText(text: string): Promise<TextCheck> {
  const trimmed = text.trim();
  if (trimmed.startsWith("{") || trimmed.startsWith("[")) return { format: "json", problem: jsonProblem(text) };
  if (!looksLikeYaml(text)) return { format: "text", problem: null };
  const { parseDocument } = await import("yaml");
  const error = parseDocument(text, { prettyErrors: true }).errors[0];
  const line = error?.linePos?.[0].line;
  return { format: "yaml", problem: error ? `line ${line ?? "?"}: ${firstLine(error.message)}` : null };
}

function jsonProblem(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const at = /position (\d+)/.exec(message)?.[1];
    if (at === undefined) return lowerFirst(message);
    const line = text.slice(0, Number(at)).split("\n").length;
    return `line ${line}: ${lowerFirst(message.replace(/ in JSON at position.*$/, "").replace(/ at position.*$/, ""))}`;
  }
}

function firstLine(text: string): string {
  return lowerFirst((text.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, ""));
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
