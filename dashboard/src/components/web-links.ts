/** Pure module: web addresses in a text. */

export interface LinkPart {
  text: string;
  /** Where it leads; null for text that is no address. */
  href: string | null;
  /** The machine that is asked, as the browser spells it. */
  host: string;
}

// Quotation marks, brackets and white space end an address where it stands in data; so do these at its end where it stands in a sentence.
const ADDRESS = /https?:\/\/[^\s"'`<>\\^{}|[\]]+/gi;
const SENTENCE_END = /[.,;:!?)]+$/;

/** The text in pieces, each address of the web one of them. What is shown is what is opened: nothing else becomes a link. */
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

/** Null for what is no address, and for one with a name before its host: it is made to be taken for another. */
function hostOf(address: string): string | null {
  if (!URL.canParse(address)) return null;
  const { protocol, username, password, host } = new URL(address);
  return (protocol === "http:" || protocol === "https:") && username === "" && password === "" ? host : null;
}
