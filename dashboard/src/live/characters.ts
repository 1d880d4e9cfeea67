/** Pure module: the server counts characters (code points), JavaScript counts UTF-16 units; an emoji is one and two. */

// Its first half is in this range; the second half follows it.
const FIRST_HALF = /[\uD800-\uDBFF]/g;

export function lengthInCharacters(text: string): number {
  return text.length - (text.match(FIRST_HALF)?.length ?? 0);
}

/** The first `count` characters. */
export function cutAtCharacter(text: string, count: number): string {
  let units = 0;
  for (let characters = 0; characters < count && units < text.length; characters += 1) {
    const code = text.charCodeAt(units);
    units += code >= 0xd800 && code <= 0xdbff ? 2 : 1;
  }
  return text.slice(0, units);
}
