/** Pure module: where in a result quoted words stand, for a person to see them. */
import { cutAtCharacter } from "@/live/characters";
import type { Citation } from "@/wire/types";

/** A part of a text, in units of JavaScript. */
export interface Place {
  start: number;
  end: number;
}

/** Where a checked citation points: at the words themselves, or at the line most like them. */
export function placeOf(text: string, citation: Pick<Citation, "found_start" | "found_end" | "nearest">): Place | null {
  const { found_start: start, found_end: end, nearest } = citation;
  if (start !== null && end !== null) {
    const place = { start: cutAtCharacter(text, start).length, end: cutAtCharacter(text, end).length };
    return place.end > place.start ? place : null;
  }
  return wordsIn(text, nearest);
}

/** Where words stand that were not checked: exactly, or with other white space between them. */
export function wordsIn(text: string, words: string): Place | null {
  const wanted = words.trim();
  if (wanted === "") return null;
  const exact = text.indexOf(wanted);
  if (exact >= 0) return { start: exact, end: exact + wanted.length };
  const loose = wanted.split(/\s+/).map(escaped).join(String.raw`\s+`);
  const found = new RegExp(loose).exec(text);
  return found && { start: found.index, end: found.index + found[0].length };
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** The words with some lines around them, long lines cut. */
export interface Surroundings {
  before: string;
  words: string;
  after: string;
}

// Enough to see what kind of thing it is, few enough to be read at a glance.
const LINES = 2;
const CHARACTERS = 240;

export function surroundings(text: string, { start, end }: Place): Surroundings {
  const head = text.slice(Math.max(0, start - CHARACTERS), start);
  const tail = text.slice(end, end + CHARACTERS);
  const before = head.split("\n").slice(-LINES - 1).join("\n");
  const after = tail.split("\n").slice(0, LINES + 1).join("\n");
  return {
    before: head.length === before.length && start > head.length ? `…${before}` : before,
    words: text.slice(start, end),
    after: tail.length === after.length && end + tail.length < text.length ? `${after}…` : after,
  };
}
