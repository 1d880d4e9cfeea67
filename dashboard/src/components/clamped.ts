/** Text that may be long, cut after so many lines. */
export function clamped(lines: number | { xs: number; sm: number }) {
  return { display: "-webkit-box", WebkitBoxOrient: "vertical", WebkitLineClamp: lines, overflow: "hidden", minWidth: 0, overflowWrap: "anywhere" } as const;
}
