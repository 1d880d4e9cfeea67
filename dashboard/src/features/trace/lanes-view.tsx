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

interface RowsProps {
  rows: readonly TraceRow[];
  window: TimeWindow;
  selected: string | undefined;
  onSelect: (call: string) => void;
  onToggle: (lane: string) => void;
}

interface LanesViewProps extends RowsProps {
  span: number;
  onWindow: (window: TimeWindow) => void;
}

// Those of agents that were sent are higher, which is measured.
const LANE_PX = 32;
// The axis stays on top of what is scrolled.
const AXIS_PX = 32;
const AXIS = { position: "sticky", top: 0, zIndex: 2, bgcolor: "background.paper", borderBottom: 1, borderColor: "divider", display: { xs: "block", sm: "grid" }, gridTemplateColumns: COLUMNS, columnGap: 1, pl: 1.5, pr: 1.5, py: 0.5 } as const;
// The rows follow each other below the room of those that are not in the page: placed one by one, each would be a layer of its own. The place that is
// looked at is kept by the list itself, not by the browser as well.
const LIST = { "& > ol": { listStyle: "none", m: 0, p: 0, overflowAnchor: "none" }, ...CALL_STYLES } as const;

export function LanesView({ span, onWindow, ...rows }: LanesViewProps) {
  return (
    <>
      <Box sx={AXIS}>
        <Box sx={{ gridColumn: 2 }}>
          <Ruler window={rows.window} span={span} onWindow={onWindow} />
        </Box>
      </Box>
      <Box sx={LIST}>
        <Rows {...rows} />
      </Box>
    </>
  );
}

/** Drawn with each turn of a wheel, so it is all that is: no looks are worked out in here, for those that stay in view nothing at all. */
function Rows({ rows, window: seen, selected, onSelect, onToggle }: RowsProps) {
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

  const items = virtual.getVirtualItems();
  return (
    <ol ref={list} aria-label="Calls" style={{ height: virtual.getTotalSize(), paddingTop: items[0] ? items[0].start - top : 0 }}>
      {items.map((item) => {
        const row = rows[item.index];
        if (!row) return null;
        const place = { index: item.index, of: rows.length, window: seen, onSelect };
        return row.kind === "lane" ? (
          <LaneRow key={item.key} {...place} lane={row.lane} open={row.open} shown={row.shown} onToggle={onToggle} measure={virtual.measureElement} />
        ) : (
          <CallRow key={item.key} {...place} call={row.call} depth={row.depth} selected={row.key === selected} />
        );
      })}
    </ol>
  );
}
