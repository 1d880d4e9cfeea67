/** A line of data in its colours. */
import { memo, useEffect, useState } from "react";
import type { Token } from "./data-highlighter";
import type { DataFormat } from "./structured-text";

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

export const DataLine = memo(function DataLine({ text, format, tokensOf }: { text: string; format: DataFormat; tokensOf: TokensOf | null }) {
  const shown = text === "" ? " " : text;
  if (format === "text" || tokensOf === null) return <>{shown}</>;
  return tokensOf(shown, format).map((token, index) => (
    <span key={index} className={token.kind}>
      {token.text}
    </span>
  ));
});
