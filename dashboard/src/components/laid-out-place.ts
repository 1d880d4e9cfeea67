/** Pure module: a place in a text, found again where only its white space differs. */

export interface TextPlace {
  start: number;
  end: number;
}

/** JSON that is laid out for reading has the same characters in the same order, with other white space between them. */
export function placeInLaidOut(original: string, laidOut: string, { start, end }: TextPlace): TextPlace {
  if (original === laidOut) return { start, end };
  const first = solidBefore(original, start);
  const last = solidBefore(original, end);
  return { start: indexOfSolid(laidOut, first), end: last > first ? indexOfSolid(laidOut, last - 1) + 1 : indexOfSolid(laidOut, first) };
}

function isSpace(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code === 32 || (code >= 9 && code <= 13);
}

function solidBefore(text: string, offset: number): number {
  let count = 0;
  for (let index = 0; index < Math.min(offset, text.length); index += 1) if (!isSpace(text, index)) count += 1;
  return count;
}

function indexOfSolid(text: string, wanted: number): number {
  let count = -1;
  for (let index = 0; index < text.length; index += 1) {
    if (!isSpace(text, index)) count += 1;
    if (count === wanted) return index;
  }
  return text.length;
}

/** The lines a place lies on, counted from 0, and what of each belongs to it. */
export function markedParts(lines: readonly string[], { start, end }: TextPlace): ReadonlyMap<number, TextPlace> {
  const parts = new Map<number, TextPlace>();
  let offset = 0;
  for (const [number, line] of lines.entries()) {
    const from = Math.max(start, offset);
    const to = Math.min(end, offset + line.length);
    if (from < to) parts.set(number, { start: from - offset, end: to - offset });
    offset += line.length + 1;
    if (offset > end) break;
  }
  return parts;
}
