/** Text with the words of a search marked. */
import { Fragment } from "react";

/** The words of a search; those with a minus sign are excluded from it. */
export function searchWords(text: string | undefined): string[] {
  return (text ?? "")
    .toLowerCase()
    .split(/[\s"]+/)
    .filter((word) => word.length > 1 && !word.startsWith("-") && word !== "or");
}

// As much text before the first match as shows what it is about.
const BEFORE = 40;

/** With `around`, the text begins shortly before the first match, where a line would cut it off. */
export function Highlighted({ text, words, around = false }: { text: string; words: readonly string[]; around?: boolean }) {
  if (words.length === 0) return text;
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "i");
  const first = text.search(pattern);
  const start = around && first > BEFORE ? text.lastIndexOf(" ", first - BEFORE / 2) + 1 : 0;
  const shown = start > 0 ? `… ${text.slice(start)}` : text;
  // Every second part is a match.
  return shown.split(new RegExp(pattern, "gi")).map((part, index) => (index % 2 === 1 ? <mark key={index}>{part}</mark> : <Fragment key={index}>{part}</Fragment>));
}
