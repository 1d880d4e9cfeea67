/** The rows of a trace: a lane with all its calls as bars, and a call. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import Typography from "@mui/material/Typography";
import { ChevronRight } from "lucide-react";
import { memo } from "react";
import { formatDuration, plural } from "@/components/format";
import { UNSEEN } from "@/components/spoken";
import { MONO, ONE_LINE } from "@/components/text-styles";
import type { TimeWindow } from "./axis";
import { placeOf } from "./axis";
import { BARS, barClass, faceOf } from "./call-face";
import type { Lane } from "./lanes";
import { barsPath, laneUse, usedLine } from "./lanes";
import type { Call } from "./waterfall";

/** Name, bar, duration; on a phone the bar is a thin one below the name. */
export const COLUMNS = { xs: "minmax(0, 1fr) 58px", sm: "minmax(150px, 46%) minmax(0, 1fr) 58px" };
const ROW = { display: "grid", gridTemplateColumns: COLUMNS, columnGap: 1, rowGap: 0.25, width: "100%", textAlign: "left", alignItems: "center", px: 1.5, py: 0.6 } as const;
const BAR = { position: "relative", display: "block", gridColumn: { xs: "1 / -1", sm: "2" }, gridRow: { xs: 2, sm: 1 }, bgcolor: "code.inline", borderRadius: 0.5, overflow: "hidden" } as const;
// Of the name alone: the bars of all lanes stand under the same axis.
const indent = (depth: number) => Math.min(depth, 4) * 16;

interface LaneRowProps {
  lane: Lane;
  open: boolean;
  /** How many of its calls are shown. */
  shown: number;
  window: TimeWindow;
  onToggle: (lane: string) => void;
  onSelect: (call: string) => void;
}

export const LaneRow = memo(function LaneRow({ lane, open, shown, window, onToggle, onSelect }: LaneRowProps) {
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
        <Box component="svg" aria-hidden viewBox="0 0 1000 10" preserveAspectRatio="none" sx={{ ...BAR, width: "100%", height: { xs: 6, sm: 12 } }}>
          {BARS.map(({ label, color, has }) => (
            <Box key={label} component="path" d={barsPath(lane.calls.filter(has), window)} sx={{ color, fill: "currentColor" }} />
          ))}
        </Box>
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

interface CallRowProps {
  call: Call;
  depth: number;
  window: TimeWindow;
  selected: boolean;
  onSelect: (call: string) => void;
}

// There may be thousands, of which a choice changes two; and dozens come into view with each turn of a wheel. Their looks are given once, by the list.
export const CallRow = memo(function CallRow({ call, depth, window, selected, onSelect }: CallRowProps) {
  const { label, icon: Icon } = faceOf(call);
  const used = usedLine(call);
  const isTool = call.kind === "mcp";
  return (
    <button type="button" className="call" onClick={() => onSelect(call.key)} aria-pressed={selected}>
      <span className="call-name" title={[call.label, call.detail, used].filter(Boolean).join("\n")} style={{ paddingLeft: 6 + indent(depth) }}>
        <Icon className={`call-icon ${barClass(call)}`} size={14} aria-hidden />
        <span className="call-kind">{`${label} `}</span>
        <span className={isTool && !call.sent ? "call-tool" : ""}>{`${call.label} `}</span>
        <span className="call-note">{isTool ? call.detail : used}</span>
      </span>
      <CallBar call={call} window={window} />
      <span className="call-note call-time">{formatDuration(call.duration)}</span>
    </button>
  );
});

function CallBar({ call, window }: { call: Call; window: TimeWindow }) {
  const left = placeOf(call.start, window);
  return (
    <span className="call-track">
      <span className={`call-bar ${barClass(call)}`} style={{ left: `${Math.min(left, 99.5)}%`, width: `${placeOf(call.start + call.duration, window) - left}%` }}>
        {call.firstChunk !== null && <span className="call-wait" title="until the first word" style={{ width: `${(100 * call.firstChunk) / Math.max(1, call.duration)}%` }} />}
      </span>
    </span>
  );
}

/** All calls are equally high: measuring each that comes into view would take longer than drawing it. */
export const CALL_PX = { xs: 38, sm: 31 };

/** How calls look, for the list around them. */
export const CALL_STYLES = {
  "& .call": { ...ROW, height: CALL_PX, py: 0, alignContent: "center", overflow: "hidden", font: "inherit", color: "inherit", border: 0, bgcolor: "transparent", cursor: "pointer", "&:hover": { bgcolor: "action.hover" }, "&[aria-pressed=true]": { bgcolor: "code.inline" } },
  "& .call-name": { ...ONE_LINE, fontSize: "0.8rem", position: "relative" },
  "& .call-icon": { verticalAlign: "text-bottom", marginRight: "6px" },
  "& .call-kind": UNSEEN,
  "& .call-tool": { fontFamily: MONO },
  "& .call-note": { fontSize: "0.78rem", color: "text.secondary", marginLeft: "4px" },
  "& .call-time": { gridColumn: { xs: 2, sm: 3 }, gridRow: 1, textAlign: "right", fontVariantNumeric: "tabular-nums" },
  "& .call-track": { ...BAR, height: { xs: 4, sm: 12 } },
  "& .call-bar": { position: "absolute", top: 0, bottom: 0, minWidth: 3, borderRadius: 0.5, overflow: "hidden", bgcolor: "currentColor" },
  "& .call-wait": { position: "absolute", top: 0, bottom: 0, left: 0, bgcolor: "background.paper", opacity: 0.55 },
  ...Object.fromEntries(BARS.map(({ name, color }) => [`& .${name}`, { color }])),
} as const;
