/** Markdown as one line of plain text, for rows that have no room for its blocks. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/^\s*(?:`{3}.*|[-=]{3,}|\|?[\s:|-]+\|)\s*$/gm, "")
    .replace(/^\s*(?:#{1,6}|>|[-*+]|\d+[.)])\s+/gm, "")
    .replace(/!?\[([^\]\n]*)\]\([^)\n]*\)/g, "$1")
    .replace(/(\*\*|__|~~|`)(?=\S)([^\n]*?\S)\1/g, "$2")
    .replace(/(^|[\s("'])[*_](?=\S)([^*_\n]*\S)[*_](?=[\s.,;:!?)"']|$)/gm, "$1$2")
    .replace(/\s+/g, " ")
    .trim();
}
