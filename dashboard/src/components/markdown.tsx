/** Markdown from models and tools: untrusted, therefore sanitised. The renderer is loaded when it is first needed. */
import Box from "@mui/material/Box";
import type { ReactNode } from "react";
import { Component, lazy, memo, Suspense } from "react";
import { markdownBlocks } from "./markdown-blocks";
import type { Marks } from "./markdown-marks";
import { PROSE_CLASS } from "./prose";

const Rendered = lazy(() => import("./rich-text"));

const Block = memo(function Block({ text, marks }: { text: string; marks: Marks | undefined }) {
  const plain = <Box sx={{ whiteSpace: "pre-wrap" }}>{text}</Box>;
  return (
    <Otherwise show={plain}>
      {/* Its room, and nothing to read: text with its marks would flash for a moment, and be another one a moment later. */}
      <Suspense fallback={<Box sx={{ whiteSpace: "pre-wrap", visibility: "hidden" }}>{text}</Box>}>
        <Rendered text={text} marks={marks} />
      </Suspense>
    </Otherwise>
  );
});

/** Text that is nested too deeply to be rendered, or whose renderer cannot be loaded, must not take the page with it. */
class Otherwise extends Component<{ show: ReactNode; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? this.props.show : this.props.children;
  }
}

/** While `growing`, finished paragraphs are not rendered again: the cost of a token does not grow with the text. */
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
