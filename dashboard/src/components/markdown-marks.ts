/** Parts of a Markdown text that a component renders, such as citations.
 *
 * Placeholders replace them before the text is parsed, because their content is not Markdown, and are replaced by elements afterwards. */
import type { ComponentType } from "react";
import type { TextRange } from "./structured-text";

/** Finds marked parts of a text, and renders one of them. */
export interface Marks {
  spansOf: (text: string) => readonly TextRange[];
  Mark: ComponentType<{ text: string }>;
}

// Brackets that have no meaning in Markdown and count as punctuation, like the ones they replace.
const LEFT = "\u2045";
const RIGHT = "\u2046";
const PLACEHOLDER = new RegExp(`(?:${LEFT}|${encodeURIComponent(LEFT)})(\\d+)(?:${RIGHT}|${encodeURIComponent(RIGHT)})`, "gi");

/** Returns the text with placeholders, and the replaced parts. Placeholders that the text already contains are removed. */
export function extractMarks(text: string, spans: readonly TextRange[]): { text: string; markTexts: string[] } {
  const markTexts: string[] = [];
  const parts: string[] = [];
  let position = 0;
  for (const { start, end } of spans) {
    parts.push(plain(text.slice(position, start)), `${LEFT}${markTexts.length}${RIGHT}`);
    markTexts.push(text.slice(start, end));
    position = end;
  }
  return { text: [...parts, plain(text.slice(position))].join(""), markTexts };
}

function plain(text: string): string {
  return text.replaceAll(LEFT, "[").replaceAll(RIGHT, "]");
}

/** The part of the document tree that is used here. */
interface DocumentNode {
  type: string;
  tagName?: string;
  value?: string;
  properties?: Record<string, unknown>;
  children?: DocumentNode[];
}

export const MARK_TAG = "cite";

/** A rehype plugin that replaces placeholders by elements, to be used after the sanitiser. In code and links the original text is restored instead. */
export function rehypeMarks(markTexts: readonly string[]): (tree: DocumentNode) => void {
  return (tree) => {
    if (markTexts.length > 0) restore(tree, markTexts, false);
  };
}

function restore(node: DocumentNode, markTexts: readonly string[], asText: boolean): void {
  if (typeof node.properties?.["href"] === "string") node.properties["href"] = originalText(node.properties["href"], markTexts);
  const inside = asText || node.tagName === "pre" || node.tagName === "a";
  node.children = node.children?.flatMap((child) => (child.type === "text" && child.value !== undefined ? restoredNodes(child.value, markTexts, inside) : [child])) ?? [];
  for (const child of node.children) if (child.tagName !== MARK_TAG && child.children) restore(child, markTexts, inside);
}

function originalText(text: string, markTexts: readonly string[]): string {
  return text.replace(PLACEHOLDER, (_, index: string) => markTexts[Number(index)] ?? "");
}

function restoredNodes(text: string, markTexts: readonly string[], asText: boolean): DocumentNode[] {
  if (asText) return [{ type: "text", value: originalText(text, markTexts) }];
  const found: DocumentNode[] = [];
  let position = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (match.index > position) found.push({ type: "text", value: text.slice(position, match.index) });
    found.push({ type: "element", tagName: MARK_TAG, properties: {}, children: [{ type: "text", value: markTexts[Number(match[1])] ?? "" }] });
    position = match.index + match[0].length;
  }
  if (position < text.length) found.push({ type: "text", value: text.slice(position) });
  return found;
}
