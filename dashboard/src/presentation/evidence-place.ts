/** Pure module: where in a result quoted words stand, for a person to see them. */
import { cutAtCharacter, lengthInCharacters } from "@/live/characters";
import type { Citation, EvidenceDetail } from "@/wire/types";

/** A part of a text, in units of JavaScript. */
export interface Place {
  start: number;
  end: number;
}

/** Where a checked citation points, and in which form of the result that is. */
export interface SeenPlace extends Place {
  text: string;
  isFolded: boolean;
}

type Seen = Pick<EvidenceDetail, "text" | "folded">;

/** The words themselves, or the line most like them. Agents see large results with their repetitions folded, and may quote what that says. */
export function placeOf({ text, folded }: Seen, citation: Pick<Citation, "found_start" | "found_end" | "nearest">): SeenPlace | null {
  const { found_start: start, found_end: end, nearest } = citation;
  if (start === null || end === null) return wordsIn({ text, folded }, nearest);
  const length = lengthInCharacters(text);
  if (end <= length) return { ...between(text, start, end), text, isFolded: false };
  // The folded form is counted on from the end of the whole one, with a character between them.
  return folded === null ? null : { ...between(folded, start - length - 1, end - length - 1), text: folded, isFolded: true };
}

function between(text: string, start: number, end: number): Place {
  return { start: cutAtCharacter(text, start).length, end: cutAtCharacter(text, end).length };
}

/** Where words stand that were not checked: exactly, or with other white space between them. */
export function wordsIn({ text, folded }: Seen, words: string): SeenPlace | null {
  const whole = found(text, words);
  if (whole) return { ...whole, text, isFolded: false };
  const short = folded === null ? null : found(folded, words);
  return short && { ...short, text: folded ?? "", isFolded: true };
}

function found(text: string, words: string): Place | null {
  const wanted = words.trim();
  if (wanted === "") return null;
  const exact = text.indexOf(wanted);
  if (exact >= 0) return { start: exact, end: exact + wanted.length };
  const loose = wanted.split(/\s+/).map(escaped).join(String.raw`\s+`);
  const match = new RegExp(loose).exec(text);
  return match && { start: match.index, end: match.index + match[0].length };
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
