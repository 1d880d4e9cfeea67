/** The rows of a trace: a lane with all its calls as bars, and a call. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import Typography from "@mui/material/Typography";
import { ChevronRight } from "lucide-react";
import { memo } from "react";
import { formatDuration, plural } from "@/components/format";
import { MONO, ONE_LINE, SANS } from "@/components/text-styles";
import type { TimeWindow } from "./axis";
import { barOf } from "./axis";
import { BARS, barClass, faceOf } from "./call-face";
import type { Lane } from "./lanes";
import { barsPath, laneUse, usedLine } from "./lanes";
import type { Call } from "./waterfall";

/** Name, bar, duration; on a phone the bar is a thin one below the name. */
export const COLUMNS = { xs: "minmax(0, 1fr) 58px", sm: "minmax(150px, 46%) minmax(0, 1fr) 58px" };
const ROW = { display: "grid", gridTemplateColumns: COLUMNS, columnGap: 1, rowGap: 0.25, width: "100%", textAlign: "left", alignItems: "center", px: 1.5, py: 0.6 } as const;
const BAR = { display: "block", gridColumn: { xs: "1 / -1", sm: "2" }, gridRow: { xs: 2, sm: 1 }, bgcolor: "code.inline", borderRadius: 0.5 } as const;
// In front of a call's icon.
const NAME_PX = 6;
// Of the name alone: the bars of all lanes stand under the same axis.
const indent = (depth: number) => Math.min(depth, 4) * 16;

interface PlacedRow {
  /** Which of all rows it is. */
  index: number;
  of: number;
  window: TimeWindow;
  onSelect: (call: string) => void;
}

interface LaneRowProps extends PlacedRow {
  lane: Lane;
  open: boolean;
  /** How many of its calls are shown. */
  shown: number;
  onToggle: (lane: string) => void;
  measure: (row: Element | null) => void;
}

export const LaneRow = memo(function LaneRow({ index, of, measure, ...lane }: LaneRowProps) {
  return (
    <li ref={measure} data-index={index} aria-posinset={index + 1} aria-setsize={of}>
      <LaneHead {...lane} />
    </li>
  );
});

const LaneHead = memo(function LaneHead({ lane, open, shown, window, onToggle, onSelect }: Omit<LaneRowProps, "index" | "of" | "measure">) {
  const { within } = lane;
  const notes = [lane.stage, shown === lane.calls.length ? plural(shown, "call") : `${shown} of ${plural(lane.calls.length, "call")}`, laneUse(lane)];
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
      {lane.task !== null && within !== null && (
        <Typography variant="caption" component="div" color="textSecondary" sx={{ pl: 4, pb: 0.5, pr: 1.5, overflowWrap: "anywhere" }} style={{ marginLeft: indent(lane.depth) }}>
          {`${lane.task} `}
          <ButtonBase onClick={() => onSelect(within)} sx={{ font: "inherit", textDecoration: "underline" }}>
            the call that sent it
          </ButtonBase>
        </Typography>
      )}
    </Box>
  );
});

// Of all its calls, whichever of them a search shows.
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

// There may be thousands, of which a choice changes two; and dozens come into view with each turn of a wheel. So each has few elements, and their
// looks are given once, by the list.
export const CallRow = memo(function CallRow({ call, depth, index, of, window, selected, onSelect }: CallRowProps) {
  const { label, icon: Icon } = faceOf(call);
  const used = usedLine(call);
  const isTool = call.kind === "mcp";
  return (
    <li aria-posinset={index + 1} aria-setsize={of}>
      <button type="button" className="call" onClick={() => onSelect(call.key)} aria-pressed={selected}>
        <span className={isTool && !call.sent ? "call-name call-tool" : "call-name"} title={[call.label, call.detail, used].filter(Boolean).join("\n")} {...(depth > 0 && { style: { paddingLeft: NAME_PX + indent(depth) } })}>
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

/** All calls are equally high: measuring each that comes into view would take longer than drawing it. */
export const CALL_PX = { xs: 38, sm: 31 };

const NOTE = { fontFamily: SANS, fontSize: "0.78rem", color: "text.secondary", marginLeft: "4px" } as const;

/** How calls look, for the list around them. */
export const CALL_STYLES = {
  "& .call": { ...ROW, height: CALL_PX, py: 0, alignContent: "center", font: "inherit", color: "inherit", border: 0, bgcolor: "transparent", cursor: "pointer", "&:hover": { bgcolor: "action.hover" }, "&[aria-pressed=true]": { bgcolor: "code.inline" } },
  // Cut off, not hidden: what is hidden can be scrolled to, and has all that this takes.
  "& .call-name": { ...ONE_LINE, overflow: "clip", fontSize: "0.8rem", paddingLeft: `${NAME_PX}px` },
  "& .call-icon": { verticalAlign: "text-bottom", marginRight: "2px" },
  "& .call-tool": { fontFamily: MONO },
  // A space is wider there.
  "& .call-tool .call-icon": { marginRight: "-2px" },
  "& .call-note": NOTE,
  "& .call-time": { ...NOTE, gridColumn: { xs: 2, sm: 3 }, gridRow: 1, textAlign: "right", fontVariantNumeric: "tabular-nums" },
  // The bar is a picture behind the track: an element of its own would have to be cut off at the track's ends.
  "& .call-track": { ...BAR, height: { xs: 4, sm: 12 }, backgroundImage: "linear-gradient(currentColor, currentColor)", backgroundRepeat: "no-repeat" },
  // Only these: what others are placed in is a layer of its own.
  "& .call-waits": { position: "relative" },
  "& .call-wait": { position: "absolute", top: 0, bottom: 0, bgcolor: "background.paper", opacity: 0.55 },
  ...Object.fromEntries(BARS.map(({ name, color }) => [`& .${name}`, { color }])),
} as const;
