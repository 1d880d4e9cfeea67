/** Pure module: parts of a Markdown text that are shown by a component of their own, such as citations.
 *
 * They are taken out before the text is read as Markdown, since what they quote would be read as Markdown too, and put back afterwards. */
import type { ComponentType } from "react";

export interface MarkedSpan {
  start: number;
  end: number;
}

/** What is marked in a text, and how one of them is shown, given its own words. */
export interface Marks {
  spansOf: (text: string) => readonly MarkedSpan[];
  Mark: ComponentType<{ text: string }>;
}

// Brackets that Markdown knows nothing of and yet takes for punctuation, as it would those that they stand for.
const LEFT = "\u2045";
const RIGHT = "\u2046";
const PLACEHOLDER = new RegExp(`(?:${LEFT}|${encodeURIComponent(LEFT)})(\\d+)(?:${RIGHT}|${encodeURIComponent(RIGHT)})`, "gi");

/** The text with placeholders, and what they stand for. A text cannot bring placeholders of its own. */
export function takeOut(text: string, spans: readonly MarkedSpan[]): { text: string; taken: string[] } {
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

/** As much of the tree of a document as is looked at here. */
interface DocumentNode {
  type: string;
  tagName?: string;
  value?: string;
  properties?: Record<string, unknown>;
  children?: DocumentNode[];
}

export const MARK_TAG = "cite";

/** For the place between the sanitiser and whatever comes after it. Inside of code and links the words themselves are put back. */
export function rehypeMarks(taken: readonly string[]): (tree: DocumentNode) => void {
  return (tree) => {
    if (taken.length > 0) putBack(tree, taken, false);
  };
}

function putBack(node: DocumentNode, taken: readonly string[], asWords: boolean): void {
  if (typeof node.properties?.["href"] === "string") node.properties["href"] = words(node.properties["href"], taken);
  const inside = asWords || node.tagName === "pre" || node.tagName === "a";
  node.children = node.children?.flatMap((child) => (child.type === "text" && child.value !== undefined ? pieces(child.value, taken, inside) : [child])) ?? [];
  for (const child of node.children) if (child.tagName !== MARK_TAG && child.children) putBack(child, taken, inside);
}

function words(text: string, taken: readonly string[]): string {
  return text.replace(PLACEHOLDER, (_, index: string) => taken[Number(index)] ?? "");
}

function pieces(text: string, taken: readonly string[], asWords: boolean): DocumentNode[] {
  if (asWords) return [{ type: "text", value: words(text, taken) }];
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
