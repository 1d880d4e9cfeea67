/** Shows data as it is: monospace, coloured, copyable; only the visible lines of a large text are in the page. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import ToggleButton from "@mui/material/ToggleButton";
import Typography from "@mui/material/Typography";
import { useVirtualizer } from "@tanstack/react-virtual";
import { WrapText } from "lucide-react";
import { useMemo, useRef, useState } from "react";
import { CopyIcon } from "./copy-button";
import { CODE_COLORS, MONO } from "./text-styles";
import { DataLine, useHighlighter } from "./data-line";
import { formatBytes, plural } from "./format";
import type { DataFormat } from "./structured-text";
import { readable } from "./structured-text";

const LINE_PX = 19;
// Below this many lines it is cheaper to have them all.
const VIRTUAL_FROM = 300;

interface DataViewProps {
  text: string;
  label: string;
  maxHeight?: number;
  /** Show the text exactly as it came. */
  raw?: boolean;
  toolbar?: boolean;
}

export function DataView({ text, label, maxHeight = 420, raw = false, toolbar = true }: DataViewProps) {
  const [wrap, setWrap] = useState(false);
  const data = useMemo(() => (raw ? { format: "text" as const, text } : readable(text)), [text, raw]);
  const lines = useMemo(() => data.text.split("\n"), [data]);
  const large = lines.length > VIRTUAL_FROM;
  return (
    <Box sx={{ border: 1, borderColor: "divider", borderRadius: 1, bgcolor: "code.block", overflow: "hidden" }}>
      {toolbar && (
        <Stack direction="row" sx={{ alignItems: "center", pl: 1.25, pr: 0.5, borderBottom: 1, borderColor: "divider", minHeight: 30 }}>
          <Typography variant="caption" color="textSecondary" sx={{ flex: 1 }}>
            {data.format === "text" ? label : `${label} · ${data.format.toUpperCase()}`} · {plural(lines.length, "line")} · {formatBytes(text.length)}
          </Typography>
          {!large && (
            <ToggleButton value="wrap" size="small" selected={wrap} onChange={() => setWrap(!wrap)} aria-label="Wrap long lines" sx={{ border: 0, p: 0.5, minWidth: 26, minHeight: 26 }}>
              <WrapText size={15} />
            </ToggleButton>
          )}
          <CopyIcon text={() => data.text} label={`Copy ${label.toLowerCase()}`} />
        </Stack>
      )}
      {large ? <ManyLines {...{ lines, label, maxHeight }} format={data.format} /> : <FewLines {...{ lines, label, maxHeight, wrap }} format={data.format} />}
    </Box>
  );
}

interface LinesProps {
  lines: string[];
  label: string;
  maxHeight: number;
  format: DataFormat;
}

const BODY = { fontFamily: MONO, fontSize: "0.78rem", lineHeight: `${LINE_PX}px`, overflow: "auto", m: 0, py: 1, ...CODE_COLORS };

function FewLines({ lines, label, maxHeight, format, wrap }: LinesProps & { wrap: boolean }) {
  const tokensOf = useHighlighter(format);
  return (
    <Box component="pre" tabIndex={0} role="region" aria-label={label} sx={{ ...BODY, maxHeight, px: 1.25, whiteSpace: wrap ? "pre-wrap" : "pre", overflowWrap: "anywhere" }}>
      {lines.map((line, index) => (
        <div key={index}>
          <DataLine text={line} format={format} tokensOf={tokensOf} />
        </div>
      ))}
    </Box>
  );
}

function ManyLines({ lines, label, maxHeight, format }: LinesProps) {
  const container = useRef<HTMLDivElement>(null);
  const tokensOf = useHighlighter(format);
  const virtual = useVirtualizer({ count: lines.length, getScrollElement: () => container.current, estimateSize: () => LINE_PX, overscan: 20 });
  return (
    <Box ref={container} tabIndex={0} role="region" aria-label={label} sx={{ ...BODY, height: maxHeight }}>
      <Box sx={{ position: "relative" }} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => (
          <Box key={item.key} sx={{ position: "absolute", left: 0, px: 1.25, whiteSpace: "pre" }} style={{ transform: `translateY(${item.start}px)` }}>
            <DataLine text={lines[item.index] ?? ""} format={format} tokensOf={tokensOf} />
          </Box>
        ))}
      </Box>
    </Box>
  );
}
