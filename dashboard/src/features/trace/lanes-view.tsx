/** A virtualised list of lanes and their calls on one time axis. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import Typography from "@mui/material/Typography";
import useMediaQuery from "@mui/material/useMediaQuery";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { ChevronRight } from "lucide-react";
import { memo, useCallback, useEffect, useEffectEvent, useRef } from "react";
import { formatDuration, plural } from "@/components/format";
import { usePageTop } from "@/components/page";
import { MONO, ONE_LINE, SANS } from "@/components/text-styles";
import type { TimeWindow } from "./axis";
import { barOf, Ruler } from "./axis";
import type { Lane, TraceRow } from "./lanes";
import { barsPath, laneUsage, usageText } from "./lanes";
import type { Call } from "./waterfall";
import { barClass, BARS, callBadge } from "./waterfall";

/** Name, bar, duration; on a phone the bar is a thin one below the name. */
const COLUMNS = { xs: "minmax(0, 1fr) 58px", sm: "minmax(150px, 46%) minmax(0, 1fr) 58px" };
const ROW = { display: "grid", gridTemplateColumns: COLUMNS, columnGap: 1, rowGap: 0.25, width: "100%", textAlign: "left", alignItems: "center", px: 1.5, py: 0.6 } as const;
const BAR = { display: "block", gridColumn: { xs: "1 / -1", sm: "2" }, gridRow: { xs: 2, sm: 1 }, bgcolor: "code.inline", borderRadius: 0.5 } as const;
// The space before a call's icon.
const NAME_PX = 6;
// Only names are indented: the bars of all lanes share one axis.
const indent = (depth: number) => Math.min(depth, 4) * 16;

interface PlacedRow {
  /** Its index among all rows. */
  index: number;
  of: number;
  window: TimeWindow;
  onSelect: (call: string) => void;
}

interface LaneRowProps extends PlacedRow {
  lane: Lane;
  open: boolean;
  /** The number of its visible calls. */
  shown: number;
  onToggle: (lane: string) => void;
  measure: (row: Element | null) => void;
}

const LaneRow = memo(function LaneRow({ index, of, measure, ...lane }: LaneRowProps) {
  return (
    <li ref={measure} data-index={index} aria-posinset={index + 1} aria-setsize={of}>
      <LaneHead {...lane} />
    </li>
  );
});

const LaneHead = memo(function LaneHead({ lane, open, shown, window, onToggle, onSelect }: Omit<LaneRowProps, "index" | "of" | "measure">) {
  const { parentCall } = lane;
  const notes = [lane.stage, shown === lane.calls.length ? plural(shown, "call") : `${shown} of ${plural(lane.calls.length, "call")}`, laneUsage(lane)];
  return (
    <Box sx={{ borderTop: 1, borderColor: "divider", bgcolor: "code.block" }}>
      <ButtonBase aria-expanded={open} onClick={() => onToggle(lane.id)} sx={{ ...ROW, "&:hover": { bgcolor: "action.hover" } }}>
        <Box component="span" sx={{ ...ONE_LINE, fontSize: "0.84rem" }} style={{ paddingLeft: indent(lane.depth) }}>
          <Box component="span" sx={{ display: "inline-flex", verticalAlign: "text-bottom", mr: 0.5, color: "text.secondary", transform: open ? "rotate(90deg)" : "none" }}>
            <ChevronRight size={15} aria-hidden />
          </Box>
          <strong>{lane.agent}</strong>{" "}
          <Typography component="span" variant="caption" color="textSecondary" sx={{ ml: 0.5 }}>
            {notes.filter(Boolean).join(" · ")}
          </Typography>
        </Box>
        <LaneBars calls={lane.calls} window={window} />
      </ButtonBase>
      {lane.task !== null && parentCall !== null && (
        <Typography variant="caption" component="div" color="textSecondary" sx={{ pl: 4, pb: 0.5, pr: 1.5, overflowWrap: "anywhere" }} style={{ marginLeft: indent(lane.depth) }}>
          {`${lane.task} `}
          <ButtonBase onClick={() => onSelect(parentCall)} sx={{ font: "inherit", textDecoration: "underline" }}>
            the call that sent it
          </ButtonBase>
        </Typography>
      )}
    </Box>
  );
});

// Includes calls that a filter hides.
const LaneBars = memo(function LaneBars({ calls, window }: { calls: readonly Call[]; window: TimeWindow }) {
  return (
    <Box component="svg" aria-hidden viewBox="0 0 1000 10" preserveAspectRatio="none" sx={{ ...BAR, overflow: "hidden", width: "100%", height: { xs: 6, sm: 12 } }}>
      {BARS.map(({ label, color, has }) => (
        <Box key={label} component="path" d={barsPath(calls.filter(has), window)} sx={{ color, fill: "currentColor" }} />
      ))}
    </Box>
  );
});

interface CallRowProps extends PlacedRow {
  call: Call;
  depth: number;
  selected: boolean;
}

// Dozens of rows are rendered with every scroll event: each has few elements, and the list around them has their styles.
const CallRow = memo(function CallRow({ call, depth, index, of, window, selected, onSelect }: CallRowProps) {
  const { label, icon: Icon } = callBadge(call);
  const used = usageText(call);
  const isTool = call.kind === "mcp";
  return (
    <li aria-posinset={index + 1} aria-setsize={of}>
      <button type="button" className="call" onClick={() => onSelect(call.key)} aria-pressed={selected}>
        <span className={isTool && !call.dispatched ? "call-name call-tool" : "call-name"} title={[call.label, call.detail, used].filter(Boolean).join("\n")} {...(depth > 0 && { style: { paddingLeft: NAME_PX + indent(depth) } })}>
          <Icon className={`call-icon ${barClass(call)}`} size={14} role="img" aria-label={label} />
          {` ${call.label} `}
          <span className="call-note">{isTool ? call.detail : used}</span>
        </span>
        <CallBar call={call} window={window} />
        <span className="call-time">{formatDuration(call.duration)}</span>
      </button>
    </li>
  );
});

function CallBar({ call, window }: { call: Call; window: TimeWindow }) {
  const { start, duration, firstChunk } = call;
  const bar = barOf(start, start + duration, window);
  const wait = firstChunk !== null && barOf(start, start + firstChunk, window);
  return (
    <span className={`call-track ${barClass(call)}${wait ? " call-waits" : ""}`} style={{ backgroundSize: `max(3px, ${bar.width}%)`, backgroundPositionX: `${bar.along}%` }}>
      {wait && <span className="call-wait" title="until the first word" style={{ left: `${wait.left}%`, width: `${wait.width}%` }} />}
    </span>
  );
}

/** All rows of calls have the same height: measuring them would take longer than rendering them. */
const CALL_PX = { xs: 38, sm: 31 };

const NOTE = { fontFamily: SANS, fontSize: "0.78rem", color: "text.secondary", marginLeft: "4px" } as const;

/** The styles of calls, for the list around them. */
const CALL_STYLES = {
  "& .call": { ...ROW, height: CALL_PX, py: 0, alignContent: "center", font: "inherit", color: "inherit", border: 0, bgcolor: "transparent", cursor: "pointer", "&:hover": { bgcolor: "action.hover" }, "&[aria-pressed=true]": { bgcolor: "code.inline" } },
  // `clip` instead of `hidden`, which would make every row a scroll container.
  "& .call-name": { ...ONE_LINE, overflow: "clip", fontSize: "0.8rem", paddingLeft: `${NAME_PX}px` },
  "& .call-icon": { verticalAlign: "text-bottom", marginRight: "2px" },
  "& .call-tool": { fontFamily: MONO },
  // A space is wider in a monospace font.
  "& .call-tool .call-icon": { marginRight: "-2px" },
  "& .call-note": NOTE,
  "& .call-time": { ...NOTE, gridColumn: { xs: 2, sm: 3 }, gridRow: 1, textAlign: "right", fontVariantNumeric: "tabular-nums" },
  // The bar is a background of the track: an element would have to be clipped at the ends of the track.
  "& .call-track": { ...BAR, height: { xs: 4, sm: 12 }, backgroundImage: "linear-gradient(currentColor, currentColor)", backgroundRepeat: "no-repeat" },
  // Not for all tracks: every positioned element is a layer of its own.
  "& .call-waits": { position: "relative" },
  "& .call-wait": { position: "absolute", top: 0, bottom: 0, bgcolor: "background.paper", opacity: 0.55 },
  ...Object.fromEntries(BARS.map(({ name, color }) => [`& .${name}`, { color }])),
} as const;

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

// Lanes of sub-agents are higher; they are measured.
const LANE_PX = 32;
// The sticky axis covers the top of the list.
const AXIS_PX = 32;
const AXIS = { position: "sticky", top: 0, zIndex: 2, bgcolor: "background.paper", borderBottom: 1, borderColor: "divider", display: { xs: "block", sm: "grid" }, gridTemplateColumns: COLUMNS, columnGap: 1, pl: 1.5, pr: 1.5, py: 0.5 } as const;
// Rows are in normal flow after a padding, because absolutely positioned ones would each be a layer. The virtualiser keeps the scroll position, so
// the browser's scroll anchoring is off.
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

/** Rendered with every scroll event: no styles are computed here, and rows that stay visible are memoised. */
function Rows({ rows, window: visible, selected, onSelect, onToggle }: RowsProps) {
  const list = useRef<HTMLOListElement>(null);
  const top = usePageTop(list);
  const callPx = useMediaQuery((theme) => theme.breakpoints.up("sm")) ? CALL_PX.sm : CALL_PX.xs;
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (index) => (rows[index]?.kind === "lane" ? LANE_PX : callPx),
    // Memoised: with a new function, every row would be measured again.
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    overscan: 10,
    scrollMargin: top,
    scrollPaddingStart: AXIS_PX,
  });

  const scrollToCall = useEffectEvent((key: string) => {
    const index = rows.findIndex((row) => row.key === key);
    if (index >= 0) virtual.scrollToIndex(index, { align: "auto" });
  });
  useEffect(() => {
    if (selected !== undefined) scrollToCall(selected);
  }, [selected, top]);

  const items = virtual.getVirtualItems();
  return (
    <ol ref={list} aria-label="Calls" style={{ height: virtual.getTotalSize(), paddingTop: items[0] ? items[0].start - top : 0 }}>
      {items.map((item) => {
        const row = rows[item.index];
        if (!row) return null;
        const shared = { index: item.index, of: rows.length, window: visible, onSelect };
        return row.kind === "lane" ? (
          <LaneRow key={item.key} {...shared} lane={row.lane} open={row.open} shown={row.shown} onToggle={onToggle} measure={virtual.measureElement} />
        ) : (
          <CallRow key={item.key} {...shared} call={row.call} depth={row.depth} selected={row.key === selected} />
        );
      })}
    </ol>
  );
}
