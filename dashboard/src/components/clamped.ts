/** Text that may be long: on one line, or cut after so many. */
export const ONE_LINE = { minWidth: 0, overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" } as const;

export function clamped(lines: number | { xs: number; sm: number }) {
  return { display: "-webkit-box", WebkitBoxOrient: "vertical", WebkitLineClamp: lines, overflow: "hidden", minWidth: 0, overflowWrap: "anywhere" } as const;
}
