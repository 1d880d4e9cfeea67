/** The colours of highlighted code, for the element around it: once, not for every piece. */
export const CODE_COLORS = {
  "& .hljs-comment, & .hljs-quote, & .hljs-meta": { color: "text.secondary" },
  "& .hljs-keyword, & .hljs-literal, & .hljs-selector-tag": { color: "code.keyword" },
  "& .hljs-string, & .hljs-addition, & .hljs-regexp": { color: "code.string" },
  "& .hljs-number, & .hljs-symbol, & .hljs-bullet": { color: "code.number" },
  "& .hljs-attr, & .hljs-attribute, & .hljs-name, & .hljs-title, & .hljs-section": { color: "code.name" },
  "& .hljs-deletion": { color: "error.main" },
} as const;
