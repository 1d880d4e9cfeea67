/** Markdown of models and tools: untrusted, therefore sanitised. */
import Box from "@mui/material/Box";
import type { ReactNode } from "react";
import { Component, memo } from "react";
import { markdownBlocks } from "./markdown-blocks";
import type { Marks } from "./markdown-marks";
import { PROSE_CLASS } from "./text-styles";
import { useRichText } from "./use-rich-text";

/** While `growing`, finished paragraphs are not rendered again, so that the cost of a token does not grow with the text. */
export function Markdown({ text, growing = false, marks }: { text: string; growing?: boolean; marks?: Marks | undefined }) {
  const blocks = growing ? markdownBlocks(text) : [text];
  return (
    <div className={PROSE_CLASS} dir="auto">
      {blocks.map((block, index) => (
        <Block key={index} text={block} marks={marks} />
      ))}
    </div>
  );
}

const Block = memo(function Block({ text, marks }: { text: string; marks: Marks | undefined }) {
  const richText = useRichText();
  const plain = <Box sx={{ whiteSpace: "pre-wrap" }}>{text}</Box>;
  if (richText === "failed") return plain;
  // Invisible, but as large as the text: raw Markdown would flash before it is rendered.
  if (richText === "loading") return <Box sx={{ visibility: "hidden" }}>{plain}</Box>;
  const { MarkdownRenderer } = richText;
  return (
    <Fallback fallback={plain}>
      <MarkdownRenderer text={text} marks={marks} />
    </Fallback>
  );
});

/** Shows `fallback` for text that is nested too deeply to be rendered. */
class Fallback extends Component<{ fallback: ReactNode; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? this.props.fallback : this.props.children;
  }
}
