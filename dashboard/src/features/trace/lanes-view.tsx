/** Thousands of calls in lanes on one time axis, of which only the visible ones are in the page. */
import Box from "@mui/material/Box";
import useMediaQuery from "@mui/material/useMediaQuery";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useEffectEvent, useRef } from "react";
import { usePageTop } from "@/components/use-page-top";
import type { TimeWindow } from "./axis";
import { Ruler } from "./axis-bar";
import type { TraceRow } from "./lanes";
import { CALL_PX, CALL_STYLES, CallRow, COLUMNS, LaneRow } from "./trace-rows";

interface LanesViewProps {
  rows: readonly TraceRow[];
  window: TimeWindow;
  span: number;
  selected: string | undefined;
  onWindow: (window: TimeWindow) => void;
  onSelect: (call: string) => void;
  onToggle: (lane: string) => void;
}

// Those of agents that were sent are higher, which is measured.
const LANE_PX = 32;
// The axis stays on top of what is scrolled.
const AXIS_PX = 32;

export function LanesView({ rows, window: seen, span, selected, onWindow, onSelect, onToggle }: LanesViewProps) {
  const list = useRef<HTMLOListElement>(null);
  const top = usePageTop(list);
  const callPx = useMediaQuery((theme) => theme.breakpoints.up("sm")) ? CALL_PX.sm : CALL_PX.xs;
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (index) => (rows[index]?.kind === "lane" ? LANE_PX : callPx),
    // The same function for the same rows: another one would have every row measured anew.
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    overscan: 10,
    scrollMargin: top,
    scrollPaddingStart: AXIS_PX,
  });

  const reveal = useEffectEvent((key: string) => {
    const index = rows.findIndex((row) => row.key === key);
    if (index >= 0) virtual.scrollToIndex(index, { align: "auto" });
  });
  useEffect(() => {
    if (selected !== undefined) reveal(selected);
  }, [selected, top]);

  return (
    <>
      <Box sx={{ position: "sticky", top: 0, zIndex: 2, bgcolor: "background.paper", borderBottom: 1, borderColor: "divider", display: { xs: "block", sm: "grid" }, gridTemplateColumns: COLUMNS, columnGap: 1, pl: 1.5, pr: 1.5, py: 0.5 }}>
        <Box sx={{ gridColumn: 2 }}>
          <Ruler window={seen} span={span} onWindow={onWindow} />
        </Box>
      </Box>
      <Box component="ol" ref={list} aria-label="Calls" sx={{ listStyle: "none", m: 0, p: 0, position: "relative", "& > li": { position: "absolute", top: 0, left: 0, right: 0 }, ...CALL_STYLES }} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (!row) return null;
          return (
            <li key={item.key} ref={row.kind === "lane" ? virtual.measureElement : null} data-index={item.index} aria-posinset={item.index + 1} aria-setsize={rows.length} style={{ transform: `translateY(${item.start - top}px)` }}>
              {row.kind === "lane" ? (
                <LaneRow lane={row.lane} open={row.open} shown={row.shown} window={seen} onToggle={onToggle} onSelect={onSelect} />
              ) : (
                <CallRow call={row.call} depth={row.depth} window={seen} selected={row.key === selected} onSelect={onSelect} />
              )}
            </li>
          );
        })}
      </Box>
    </>
  );
}
