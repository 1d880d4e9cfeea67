/** How text looks: typefaces, long text on few lines, the colours of code. */

// Typefaces that are already on the reader's machine.
export const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Ubuntu, Cantarell, "Helvetica Neue", Arial, sans-serif';
export const MONO = 'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** Text that may be long, on one line. */
export const ONE_LINE = { minWidth: 0, overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" } as const;

/** Text that may be long, cut after so many lines. */
export function clamped(lines: number | { xs: number; sm: number }) {
  return { display: "-webkit-box", WebkitBoxOrient: "vertical", WebkitLineClamp: lines, overflow: "hidden", minWidth: 0, overflowWrap: "anywhere" } as const;
}

/** The colours of highlighted code, for the element around it: once, not for every piece. */
export const CODE_COLORS = {
  "& .hljs-comment, & .hljs-quote, & .hljs-meta": { color: "text.secondary" },
  "& .hljs-keyword, & .hljs-literal, & .hljs-selector-tag": { color: "code.keyword" },
  "& .hljs-string, & .hljs-addition, & .hljs-regexp": { color: "code.string" },
  "& .hljs-number, & .hljs-symbol, & .hljs-bullet": { color: "code.number" },
  "& .hljs-attr, & .hljs-attribute, & .hljs-name, & .hljs-title, & .hljs-section": { color: "code.name" },
  "& .hljs-deletion": { color: "error.main" },
} as const;
