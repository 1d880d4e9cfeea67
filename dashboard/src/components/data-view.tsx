/** A viewer for data: monospace, highlighted and copyable. Of a large text, only the visible lines are rendered. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import ToggleButton from "@mui/material/ToggleButton";
import Typography from "@mui/material/Typography";
import { useVirtualizer } from "@tanstack/react-virtual";
import { WrapText } from "lucide-react";
import type { RefObject } from "react";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { CopyIcon } from "./copy-button";
import { DataLine, useHighlighter } from "./data-line";
import { formatTextSize, plural } from "./format";
import type { DataFormat, TextRange } from "./structured-text";
import { rangeInFormatted, rangesByLine, readable } from "./structured-text";
import { CODE_COLORS, MONO } from "./text-styles";

const LINE_PX = 19;
// Fewer lines are all rendered.
const VIRTUAL_FROM = 300;

interface DataViewProps {
  text: string;
  label: string;
  maxHeight?: number;
  /** Show the text unformatted. */
  raw?: boolean;
  toolbar?: boolean;
  /** The part of the text to mark and scroll to. */
  mark?: TextRange | null;
  /** Fill the height of the parent instead of `maxHeight`. */
  fill?: boolean;
  /** Turn web addresses into links. */
  links?: boolean;
}

const FILL = { flex: 1, minHeight: 0, display: "flex", flexDirection: "column" } as const;
const NO_MARKS: ReadonlyMap<number, TextRange> = new Map();

export function DataView({ text, label, maxHeight = 420, raw = false, toolbar = true, mark = null, fill = false, links = false }: DataViewProps) {
  // A marked part must be visible as a whole.
  const [wrap, setWrap] = useState(mark !== null);
  const data = useMemo(() => (raw ? { format: "text" as const, text } : readable(text)), [text, raw]);
  const size = useMemo(() => formatTextSize(text), [text]);
  const lines = useMemo(() => data.text.split("\n"), [data]);
  const marks = useMemo(() => (mark ? rangesByLine(lines, rangeInFormatted(text, data.text, mark)) : NO_MARKS), [mark, lines, text, data]);
  const large = lines.length > VIRTUAL_FROM;
  const height = fill ? FILLED : { maxHeight };
  return (
    <Box sx={{ border: 1, borderColor: "divider", borderRadius: 1, bgcolor: "code.block", overflow: "hidden", ...(fill ? FILL : {}) }}>
      {toolbar && (
        <Stack direction="row" sx={{ alignItems: "center", pl: 1.25, pr: 0.5, borderBottom: 1, borderColor: "divider", minHeight: 30 }}>
          <Typography variant="caption" color="textSecondary" sx={{ flex: 1 }}>
            {data.format === "text" ? label : `${label} · ${data.format.toUpperCase()}`} · {plural(lines.length, "line")} · {size}
          </Typography>
          {!large && (
            <ToggleButton value="wrap" size="small" selected={wrap} onChange={() => setWrap(!wrap)} aria-label="Wrap long lines" sx={{ border: 0, p: 0.5, minWidth: 26, minHeight: 26 }}>
              <WrapText size={15} />
            </ToggleButton>
          )}
          <CopyIcon text={() => data.text} label={`Copy ${label.toLowerCase()}`} />
        </Stack>
      )}
      {large ? <ManyLines {...{ lines, label, marks, links }} height={fill ? FILLED : { height: maxHeight }} format={data.format} /> : <FewLines {...{ lines, label, height, wrap, marks, links }} format={data.format} />}
    </Box>
  );
}

interface LinesProps {
  lines: string[];
  label: string;
  height: object;
  format: DataFormat;
  /** By line number. */
  marks: ReadonlyMap<number, TextRange>;
  links: boolean;
}

const FILLED = { flex: 1, minHeight: 0 };
const BODY = { fontFamily: MONO, fontSize: "0.78rem", lineHeight: `${LINE_PX}px`, overflow: "auto", m: 0, py: 1, ...CODE_COLORS, "& a": { color: "primary.main" } };
const MARKED_LINE = { bgcolor: "mark.line", mx: -1.25, px: 1.25, boxShadow: "inset 3px 0 0 var(--mui-palette-mark-edge)" };

function FewLines({ lines, label, height, format, wrap, marks, links }: LinesProps & { wrap: boolean }) {
  const container = useRef<HTMLPreElement>(null);
  const tokensOf = useHighlighter(format);
  useEffect(() => scrollToMark(container), [marks, lines]);
  return (
    <Box component="pre" ref={container} tabIndex={0} role="region" aria-label={label} sx={{ ...BODY, ...height, px: 1.25, whiteSpace: wrap ? "pre-wrap" : "pre", overflowWrap: "anywhere" }}>
      {lines.map((line, index) => {
        const mark = marks.get(index);
        return (
          <Box key={index} sx={mark ? MARKED_LINE : {}}>
            <DataLine text={line} format={format} tokensOf={tokensOf} mark={mark} links={links} />
          </Box>
        );
      })}
    </Box>
  );
}

function ManyLines({ lines, label, height, format, marks, links }: LinesProps) {
  const container = useRef<HTMLDivElement>(null);
  const tokensOf = useHighlighter(format);
  const virtual = useVirtualizer({ count: lines.length, getScrollElement: () => container.current, estimateSize: () => LINE_PX, overscan: 20 });
  const first = marks.keys().next().value;
  useLayoutEffect(() => {
    if (first === undefined) return;
    virtual.scrollToIndex(first, { align: "center" });
    // The line is rendered after it has been scrolled to.
    const frame = requestAnimationFrame(() => scrollToMark(container));
    return () => cancelAnimationFrame(frame);
  }, [first, marks, virtual]);
  return (
    <Box ref={container} tabIndex={0} role="region" aria-label={label} sx={{ ...BODY, ...height }}>
      <Box sx={{ position: "relative" }} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const mark = marks.get(item.index);
          return (
            <Box key={item.key} sx={{ position: "absolute", left: 0, minWidth: "100%", px: 1.25, whiteSpace: "pre", ...(mark ? { bgcolor: "mark.line" } : {}) }} style={{ transform: `translateY(${item.start}px)` }}>
              <DataLine text={lines[item.index] ?? ""} format={format} tokensOf={tokensOf} mark={mark} links={links} />
            </Box>
          );
        })}
      </Box>
    </Box>
  );
}

/** Scrolls the mark to the middle of its container, without scrolling the page. */
function scrollToMark(container: RefObject<HTMLElement | null>): void {
  const box = container.current;
  const mark = box?.querySelector("mark");
  if (!box || !mark) return;
  const [outer, inner] = [box.getBoundingClientRect(), mark.getBoundingClientRect()];
  box.scrollTop += inner.top - outer.top - (outer.height - Math.min(inner.height, outer.height)) / 2;
  box.scrollLeft += inner.right > outer.right || inner.left < outer.left ? inner.left - outer.left - outer.width / 3 : 0;
}
