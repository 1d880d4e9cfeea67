/** A line of data in its colours. */
import { memo, useEffect, useState } from "react";
import type { Token } from "./data-highlighter";
import type { TextPlace } from "./laid-out-place";
import type { DataFormat } from "./structured-text";
import type { LinkPart } from "./web-links";
import { linkParts } from "./web-links";

type TokensOf = (line: string, format: DataFormat) => Token[];

let loaded: TokensOf | null = null;

/** The highlighter, once it is there; until then, and if it cannot be loaded, lines are shown without colours. */
export function useHighlighter(format: DataFormat): TokensOf | null {
  const [tokensOf, setTokensOf] = useState(() => loaded);
  const wanted = format !== "text" && tokensOf === null;
  useEffect(() => {
    if (!wanted) return;
    const load = async () => {
      loaded = (await import("./rich-text")).tokensOf;
      setTokensOf(() => loaded);
    };
    load().catch(() => undefined);
  }, [wanted]);
  return tokensOf;
}

interface DataLineProps {
  text: string;
  format: DataFormat;
  tokensOf: TokensOf | null;
  /** What of the line is marked. */
  mark?: TextPlace | undefined;
  /** Make addresses of the web links. */
  links?: boolean;
}

export const DataLine = memo(function DataLine({ text, format, tokensOf, mark, links = false }: DataLineProps) {
  const shown = text === "" ? " " : text;
  const tokens = format === "text" || tokensOf === null ? [{ kind: "", text: shown }] : tokensOf(shown, format);
  if (mark) return cutAtMark(tokens, mark).map((token, index) => (token.marked ? <mark key={index}>{token.text}</mark> : <Piece key={index} token={token} links={links} />));
  return tokens.map((token, index) => <Piece key={index} token={token} links={links} />);
});

function Piece({ token, links }: { token: Token; links: boolean }) {
  const text = links ? linkParts(token.text).map((part, index) => <LinkOrText key={index} part={part} />) : token.text;
  return token.kind === "" ? text : <span className={token.kind}>{text}</span>;
}

/** A link in words that came from outside: what it says is where it leads, and that page learns nothing of this one. */
function LinkOrText({ part: { text, href, host } }: { part: LinkPart }) {
  if (href === null) return text;
  return (
    <a href={href} title={`Opens ${host}`} target="_blank" rel="noopener noreferrer nofollow">
      {text}
    </a>
  );
}

interface CutToken extends Token {
  marked: boolean;
}

/** The tokens of a line, cut where the mark begins and ends; what is marked is one piece. */
export function cutAtMark(tokens: readonly Token[], { start, end }: TextPlace): CutToken[] {
  const before: CutToken[] = [];
  const after: CutToken[] = [];
  let marked = "";
  let offset = 0;
  for (const { kind, text } of tokens) {
    const cut = (from: number, to: number) => text.slice(Math.max(0, from - offset), Math.max(0, to - offset));
    before.push({ kind, text: cut(0, start), marked: false });
    marked += cut(start, end);
    after.push({ kind, text: cut(end, offset + text.length), marked: false });
    offset += text.length;
  }
  return [...before, { kind: "", text: marked, marked: true }, ...after].filter((token) => token.text !== "");
}
