/** A line of data in its colours, and what those are. */
import { memo } from "react";
import type { DataFormat, TokenKind } from "./structured-text";
import { tokensOf } from "./structured-text";

const TOKEN_COLOR = {
  name: "code.name",
  string: "code.string",
  number: "code.number",
  keyword: "code.keyword",
  comment: "text.secondary",
  plain: "text.primary",
} satisfies Record<TokenKind, string>;

/** For the element around the lines: once, not for every token. */
export const LINE_COLORS = Object.fromEntries(Object.entries(TOKEN_COLOR).map(([kind, color]) => [`& .t-${kind}`, { color }]));

export const DataLine = memo(function DataLine({ text, format }: { text: string; format: DataFormat }) {
  if (format === "text") return <>{text === "" ? " " : text}</>;
  return tokensOf(text === "" ? " " : text, format).map((token, index) => (
    <span key={index} className={`t-${token.kind}`}>
      {token.text}
    </span>
  ));
});
