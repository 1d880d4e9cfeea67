/** Markdown from models and tools: untrusted, therefore sanitised. The renderer is loaded when it is first needed. */
import Box from "@mui/material/Box";
import { lazy, memo, Suspense } from "react";
import { markdownBlocks } from "./markdown-blocks";
import { PROSE_CLASS } from "./prose";

const Rendered = lazy(() => import("./markdown-renderer"));

const Block = memo(function Block({ text }: { text: string }) {
  return (
    <Suspense fallback={<Box sx={{ whiteSpace: "pre-wrap" }}>{text}</Box>}>
      <Rendered text={text} />
    </Suspense>
  );
});

/** While `growing`, finished paragraphs are not rendered again: the cost of a token does not grow with the text. */
export function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const blocks = growing ? markdownBlocks(text) : [text];
  return (
    <div className={PROSE_CLASS}>
      {blocks.map((block, index) => (
        <Block key={index} text={block} />
      ))}
    </div>
  );
}
