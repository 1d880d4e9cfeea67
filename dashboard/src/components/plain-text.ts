/**
 * Markdown as one line of plain text, for rows that have no room for its blocks.
 *
 * A model may write thousands of blank lines or open brackets: each pattern stops at the end of its line or at the next mark of its
 * kind, so that the time grows with the length of the text and not with its square.
 */
export function plainText(markdown: string): string {
  return markdown
    .replace(/^[ \t]*(?:`{3}.*|[-=]{3,}|[:|-][ \t:|-]*\|)[ \t]*$/gm, "")
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+]|\d+[.)])\s+/gm, "")
    .replace(/!?\[([^[\]\n]*)\]\([^[)\n]*\)/g, "$1")
    .replace(/(\*\*|__|~~|`)(?=\S)((?:(?!\1)[^\n])+)(?<=\S)\1/g, "$2")
    .replace(/(^|[\s("'])[*_](?=\S)([^*_\n]*\S)[*_](?=[\s.,;:!?)"']|$)/gm, "$1$2")
    .replace(/\s+/g, " ")
    .trim();
}
