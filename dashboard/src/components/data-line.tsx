/** A line of highlighted data, with links and a marked part. */
import { memo } from "react";
import type { Token } from "./rich-text";
import type { DataFormat, TextRange } from "./structured-text";
import { useRichText } from "./use-rich-text";

type TokensOf = (line: string, format: DataFormat) => Token[];

/** The highlighter, or null until it is loaded: lines are shown without colours then, and if it cannot be loaded. */
export function useHighlighter(format: DataFormat): TokensOf | null {
  const richText = useRichText(format !== "text");
  return typeof richText === "object" ? richText.tokensOf : null;
}

interface DataLineProps {
  text: string;
  format: DataFormat;
  tokensOf: TokensOf | null;
  /** The marked part of the line. */
  mark?: TextRange | undefined;
  /** Turn web addresses into links. */
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

/** A link in untrusted text: its text is its address, and the linked page does not see this one. */
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

/** The tokens of a line, cut at both ends of the mark. The marked part is one token. */
function cutAtMark(tokens: readonly Token[], { start, end }: TextRange): CutToken[] {
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

interface LinkPart {
  text: string;
  /** Null for text that is no address. */
  href: string | null;
  /** As the browser spells it. */
  host: string;
}

// Quotes, brackets and white space end an address in data; these characters do at the end of an address in a sentence.
const ADDRESS = /https?:\/\/[^\s"'`<>\\^{}|[\]]+/gi;
// The lookbehind keeps the time linear: without it, a search would begin at each of many such characters in a row.
const SENTENCE_END = /(?<![.,;:!?)])[.,;:!?)]+$/;

/** Splits a text into web addresses and the text between them. */
export function linkParts(text: string): LinkPart[] {
  const parts: LinkPart[] = [];
  let position = 0;
  for (const match of text.matchAll(ADDRESS)) {
    const address = match[0].replace(SENTENCE_END, "");
    const host = hostOf(address);
    if (host === null) continue;
    parts.push({ text: text.slice(position, match.index), href: null, host: "" }, { text: address, href: address, host });
    position = match.index + address.length;
  }
  return [...parts, { text: text.slice(position), href: null, host: "" }].filter((part) => part.text !== "");
}

/** Null for an invalid address, and for one with a user name, which is likely made to look like another host. */
function hostOf(address: string): string | null {
  if (!URL.canParse(address)) return null;
  const { protocol, username, password, host } = new URL(address);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "" ? host : null;
}
