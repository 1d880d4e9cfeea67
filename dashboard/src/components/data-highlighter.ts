/** The highlighter for JSON and YAML, line by line. */
import json from "highlight.js/lib/languages/json";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { DataFormat } from "./structured-text";

/** A piece of a line and the class that the highlighter gives it; "" for none. */
export interface Token {
  kind: string;
  text: string;
}

// The grammars look ahead from every word: the time for a line grows with the square of its length, and this long takes milliseconds.
const LONGEST_LINE = 2_000;

const highlighter = createLowlight({ json, yaml });

export function tokensOf(line: string, format: DataFormat): Token[] {
  if (format === "text" || line.length > LONGEST_LINE) return [{ kind: "", text: line }];
  return highlighter.highlight(format, line).children.map((node) => ({
    kind: node.type === "element" ? String(node.properties["className"] ?? "") : "",
    text: textOf(node),
  }));
}

type HighlightedNode = ReturnType<typeof highlighter.highlight>["children"][number];

function textOf(node: HighlightedNode): string {
  if (node.type === "text") return node.value;
  return node.type === "element" ? node.children.map(textOf).join("") : "";
}
