/** The rows of a trace: a lane with all its calls as bars, and a call. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import Typography from "@mui/material/Typography";
import { ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { memo } from "react";
import { FaceIcon } from "@/components/badge";
import { formatDuration, plural } from "@/components/format";
import { Spoken } from "@/components/spoken";
import { MONO, ONE_LINE } from "@/components/text-styles";
import type { TimeWindow } from "./axis";
import { placeOf } from "./axis";
import { BARS, barColor, faceOf } from "./call-face";
import type { Lane } from "./lanes";
import { barsPath, laneUse, usedLine } from "./lanes";
import type { Call } from "./waterfall";

/** Name, bar, duration; on a phone the bar is a thin one below the name. */
export const COLUMNS = { xs: "minmax(0, 1fr) 58px", sm: "minmax(150px, 46%) minmax(0, 1fr) 58px" };
const ROW = { display: "grid", gridTemplateColumns: COLUMNS, columnGap: 1, rowGap: 0.25, width: "100%", textAlign: "left", alignItems: "center", px: 1.5, py: 0.6 } as const;
const BAR = { position: "relative", display: "block", gridColumn: { xs: "1 / -1", sm: "2" }, gridRow: { xs: 2, sm: 1 }, bgcolor: "code.inline", borderRadius: 0.5, overflow: "hidden" } as const;
// Of the name alone: the bars of all lanes stand under the same axis.
const indent = (depth: number) => ({ pl: Math.min(depth, 4) * 2 });

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
        <Box component="span" sx={{ ...ONE_LINE, ...indent(lane.depth), fontSize: "0.84rem" }}>
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
        <Typography variant="caption" component="div" color="textSecondary" sx={{ pl: 4 + Math.min(lane.depth, 4) * 2, pb: 0.5, pr: 1.5, overflowWrap: "anywhere" }}>
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

// There may be thousands, of which a choice changes two.
export const CallRow = memo(function CallRow({ call, depth, window, selected, onSelect }: CallRowProps) {
  const face = faceOf(call);
  const used = usedLine(call);
  return (
    <ButtonBase onClick={() => onSelect(call.key)} aria-pressed={selected} sx={{ ...ROW, bgcolor: selected ? "code.inline" : "transparent", "&:hover": { bgcolor: "action.hover" } }}>
      <Box component="span" title={[call.label, call.detail, used].filter(Boolean).join("\n")} sx={{ ...ONE_LINE, ...indent(depth + 0.75), fontSize: "0.8rem" }}>
        <Box component="span" sx={{ display: "inline-flex", verticalAlign: "text-bottom", mr: 0.75 }}>
          <FaceIcon face={face} size={14} />
        </Box>
        <Spoken>{`${face.label} `}</Spoken>
        <Box component="span" sx={{ fontFamily: call.kind === "mcp" ? MONO : "inherit" }}>{`${call.label} `}</Box>
        <Small>{call.kind === "mcp" ? call.detail : used}</Small>
      </Box>
      <CallBar call={call} window={window} />
      <Typography component="span" variant="caption" color="textSecondary" sx={{ gridColumn: { xs: 2, sm: 3 }, gridRow: 1, textAlign: "right", fontVariantNumeric: "tabular-nums" }}>
        {formatDuration(call.duration)}
      </Typography>
    </ButtonBase>
  );
});

function Small({ children }: { children: ReactNode }) {
  return (
    <Typography component="span" variant="caption" color="textSecondary" sx={{ ml: 0.5 }}>
      {children}
    </Typography>
  );
}

function CallBar({ call, window }: { call: Call; window: TimeWindow }) {
  const left = placeOf(call.start, window);
  return (
    <Box component="span" sx={{ ...BAR, height: { xs: 4, sm: 12 } }}>
      <Box component="span" sx={{ position: "absolute", top: 0, bottom: 0, minWidth: 3, bgcolor: barColor(call), borderRadius: 0.5, overflow: "hidden" }} style={{ left: `${Math.min(left, 99.5)}%`, width: `${placeOf(call.start + call.duration, window) - left}%` }}>
        {call.firstChunk !== null && <Box component="span" title="until the first word" sx={{ position: "absolute", inset: 0, right: "auto", bgcolor: "background.paper", opacity: 0.55 }} style={{ width: `${(100 * call.firstChunk) / Math.max(1, call.duration)}%` }} />}
      </Box>
    </Box>
  );
}
