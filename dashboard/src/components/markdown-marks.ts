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
export function extractMarks(text: string, spans: readonly TextRange[]): { text: string; taken: string[] } {
  const taken: string[] = [];
  const parts: string[] = [];
  let position = 0;
  for (const { start, end } of spans) {
    parts.push(plain(text.slice(position, start)), `${LEFT}${taken.length}${RIGHT}`);
    taken.push(text.slice(start, end));
    position = end;
  }
  return { text: [...parts, plain(text.slice(position))].join(""), taken };
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
export function rehypeMarks(taken: readonly string[]): (tree: DocumentNode) => void {
  return (tree) => {
    if (taken.length > 0) restore(tree, taken, false);
  };
}

function restore(node: DocumentNode, taken: readonly string[], asText: boolean): void {
  if (typeof node.properties?.["href"] === "string") node.properties["href"] = originalText(node.properties["href"], taken);
  const inside = asText || node.tagName === "pre" || node.tagName === "a";
  node.children = node.children?.flatMap((child) => (child.type === "text" && child.value !== undefined ? restoredNodes(child.value, taken, inside) : [child])) ?? [];
  for (const child of node.children) if (child.tagName !== MARK_TAG && child.children) restore(child, taken, inside);
}

function originalText(text: string, taken: readonly string[]): string {
  return text.replace(PLACEHOLDER, (_, index: string) => taken[Number(index)] ?? "");
}

function restoredNodes(text: string, taken: readonly string[], asText: boolean): DocumentNode[] {
  if (asText) return [{ type: "text", value: originalText(text, taken) }];
  const found: DocumentNode[] = [];
  let position = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (match.index > position) found.push({ type: "text", value: text.slice(position, match.index) });
    found.push({ type: "element", tagName: MARK_TAG, properties: {}, children: [{ type: "text", value: taken[Number(match[1])] ?? "" }] });
    position = match.index + match[0].length;
  }
  if (position < text.length) found.push({ type: "text", value: text.slice(position) });
  return found;
}
