/** Styles of text: typefaces, truncation, the colours of code, rendered Markdown and citations. */
import GlobalStyles from "@mui/material/GlobalStyles";
import { memo } from "react";

// Fonts of the operating systems: none are downloaded.
export const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Ubuntu, Cantarell, "Helvetica Neue", Arial, sans-serif';
export const MONO = 'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** Truncates text to one line. */
export const ONE_LINE = { minWidth: 0, overflow: "hidden", textOverflow: "ellipsis", whiteSpace: "nowrap" } as const;

/** Truncates text to this many lines. */
export function clamped(lines: number | { xs: number; sm: number; md?: number }) {
  return { display: "-webkit-box", WebkitBoxOrient: "vertical", WebkitLineClamp: lines, overflow: "hidden", minWidth: 0, overflowWrap: "anywhere" } as const;
}

/** The colours of highlighted code, for the element around it. */
export const CODE_COLORS = {
  "& .hljs-comment, & .hljs-quote, & .hljs-meta": { color: "text.secondary" },
  "& .hljs-keyword, & .hljs-literal, & .hljs-selector-tag": { color: "code.keyword" },
  "& .hljs-string, & .hljs-addition, & .hljs-regexp": { color: "code.string" },
  "& .hljs-number, & .hljs-symbol, & .hljs-bullet": { color: "code.number" },
  "& .hljs-attr, & .hljs-attribute, & .hljs-name, & .hljs-title, & .hljs-section": { color: "code.name" },
  "& .hljs-deletion": { color: "error.main" },
} as const;

export const PROSE_CLASS = "prose";

const PROSE = {
  lineHeight: 1.65,
  overflowWrap: "anywhere",
  "& p": { my: 1.25 },
  "& > p:last-of-type": { mb: 0.5 },
  "& h1, & h2, & h3, & h4": { lineHeight: 1.3, mt: 3, mb: 1, fontWeight: 650 },
  "& h1": { fontSize: "1.35rem" },
  "& h2": { fontSize: "1.15rem" },
  "& h3, & h4": { fontSize: "1rem" },
  "& ul, & ol": { pl: 3, my: 1.25 },
  "& li": { my: 0.5 },
  "& li > p": { my: 0.5 },
  "& a": { color: "primary.main" },
  "& blockquote": { m: 0, my: 1.5, pl: 2, borderLeft: 3, borderColor: "divider", color: "text.secondary" },
  "& code": { fontFamily: MONO, fontSize: "0.875em", bgcolor: "code.inline", borderRadius: 0.75, px: 0.5, py: 0.25 },
  "& pre": { bgcolor: "code.block", border: 1, borderColor: "divider", borderRadius: 1, p: 1.5, my: 1.5, overflowX: "auto", lineHeight: 1.5 },
  "& pre code": { bgcolor: "transparent", p: 0, fontSize: "0.8125rem", overflowWrap: "normal" },
  "& table": { display: "block", width: "max-content", maxWidth: "100%", overflowX: "auto", borderCollapse: "collapse", my: 1.5, fontSize: "0.925em" },
  "& th, & td": { border: 1, borderColor: "divider", px: 1.25, py: 0.75, textAlign: "left", verticalAlign: "top" },
  "& th": { bgcolor: "code.inline", fontWeight: 600 },
  "& hr": { border: 0, borderTop: 1, borderColor: "divider", my: 3 },
  ...CODE_COLORS,
} as const;

/** A citation: the quoted words, then the evidence id in the colour of its state. */
const CITATION = {
  color: "inherit",
  textDecoration: "none",
  "--known": "var(--mui-palette-text-secondary)",
  "&[data-state=quote_found]": { "--known": "var(--mui-palette-success-main)" },
  "&[data-state=failed]": { "--known": "var(--mui-palette-warning-main)" },
  "& q": { quotes: "none", fontFamily: MONO, fontSize: "0.84em", px: 0.5, py: "1px", borderRadius: 0.75, bgcolor: "code.inline", borderBottom: "1px dotted var(--known)", boxDecorationBreak: "clone", WebkitBoxDecorationBreak: "clone" },
  "& + &": { ml: 0.5 },
  "& .citation-id": { display: "inline-flex", alignItems: "center", gap: "3px", px: 0.75, lineHeight: "1.5em", fontSize: "0.75em", fontWeight: 650, verticalAlign: "0.08em", whiteSpace: "nowrap", borderRadius: "9px", border: "1px solid color-mix(in srgb, var(--known) 45%, transparent)", color: "var(--known)", fontVariantNumeric: "tabular-nums" },
  "&[data-state=unchecked] .citation-id": { borderStyle: "dashed" },
  "&[data-state=failed] q": { textDecoration: "underline wavy var(--known) 1px", borderBottom: 0, textUnderlineOffset: "3px" },
  "&:hover .citation-id, &:focus-visible .citation-id, &[aria-current] .citation-id": { bgcolor: "color-mix(in srgb, var(--known) 16%, transparent)" },
} as const;

/** Global, so that streamed text does not compute its styles with every token. */
export const ProseStyles = memo(function ProseStyles() {
  return <GlobalStyles styles={(theme) => theme.unstable_sx({ [`.${PROSE_CLASS}`]: PROSE, "a.citation": CITATION, [`.${PROSE_CLASS} a.citation`]: { color: "inherit" } })} />;
});
