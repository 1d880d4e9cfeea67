/** Pure module: what differs between two texts, line by line. */

export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

// The table of a comparison has as many cells: beyond that, what lies between the shared ends is told as replaced.
const MOST_CELLS = 4_000_000;

/** The shortest way from one to the other. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const same = (lines: string[]) => lines.map((text): DiffLine => ({ kind: "same", text }));
  return [...same(a.slice(0, start)), ...between(a.slice(start, a.length - end), b.slice(start, b.length - end)), ...same(a.slice(a.length - end))];
}

function between(a: string[], b: string[]): DiffLine[] {
  if (a.length * b.length > MOST_CELLS) return [...told("removed", a), ...told("added", b)];
  const shared = sharedLengths(a, b);
  const width = b.length + 1;
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    const [left, right] = [a[i] ?? "", b[j] ?? ""];
    if (left === right) {
      lines.push({ kind: "same", text: left });
      i += 1;
      j += 1;
    } else if ((shared[(i + 1) * width + j] ?? 0) >= (shared[i * width + j + 1] ?? 0)) {
      lines.push({ kind: "removed", text: left });
      i += 1;
    } else {
      lines.push({ kind: "added", text: right });
      j += 1;
    }
  }
  return [...lines, ...told("removed", a.slice(i)), ...told("added", b.slice(j))];
}

function told(kind: DiffLine["kind"], texts: string[]): DiffLine[] {
  return texts.map((text) => ({ kind, text }));
}

/** How many lines the ends of both share, from each pair of places on. */
function sharedLengths(a: string[], b: string[]): Uint16Array {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = a[i] === b[j] ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
    }
  }
  return lengths;
}
