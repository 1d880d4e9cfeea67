/** Pure module: a growing Markdown text in pieces, of which only the last one still changes. */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Split at blank lines outside of code fences. Joined again they are the text. */
export function markdownBlocks(text: string): string[] {
  const blocks: string[] = [];
  let current: string[] = [];
  let fence: string | null = null;
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (mark && fence === null) fence = mark;
    else if (mark && fence !== null && mark.startsWith(fence)) fence = null;
    current.push(line);
    if (line.trim() === "" && fence === null) {
      blocks.push(current.join("\n") + "\n");
      current = [];
    }
  }
  if (current.length > 0) blocks.push(current.join("\n"));
  return blocks;
}
