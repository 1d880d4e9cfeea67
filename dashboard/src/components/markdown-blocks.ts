/** Markdown text by lines and by blocks. */

// A line with its end, at every separator that the server's `str.splitlines` knows.
const ENDS = String.raw`\n\r\v\f\x1c-\x1e\x85\u2028\u2029`;
const LINE = new RegExp(String.raw`[^${ENDS}]*(?:\r\n|[${ENDS}]|$)`, "g");
// Back-ticks again on the same line end a span of code.
const FENCE = /^ {0,3}(`{3,}(?!.*`)|~{3,})/;

/** The lines of a text with their ends, and whether each belongs to a fenced code block. */
export function markdownLines(text: string): [line: string, inCode: boolean][] {
  let fence = "";
  return (text.match(LINE) ?? []).map((line) => {
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (fence === "") {
      fence = mark;
      return [line, mark !== ""];
    }
    // A block ends only at a fence of the same kind that is at least as long and has no text.
    if (mark !== "" && mark[0] === fence[0] && mark.length >= fence.length && line.trim() === mark) fence = "";
    return [line, true];
  });
}

/** Splits a text after blank lines outside of code. While the text grows, only the last block changes. */
export function markdownBlocks(text: string): string[] {
  const blocks = [""];
  for (const [line, inCode] of markdownLines(text)) {
    blocks.push((blocks.pop() ?? "") + line);
    if (line.trim() === "" && line !== "" && !inCode) blocks.push("");
  }
  return blocks.at(-1) === "" ? blocks.slice(0, -1) : blocks;
}

/** The headings of a text, without their formatting. */
export function headingsOf(text: string): string[] {
  return markdownLines(text).flatMap(([line, inCode]) => {
    const heading = inCode ? undefined : /^ {0,3}#{1,6}\s+(.+?)\s*#*$/.exec(line.trimEnd())?.[1];
    return heading === undefined ? [] : [heading.replace(/[*_`]/g, "")];
  });
}
