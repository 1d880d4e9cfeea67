/** The time axis over the lanes: ticks, a part to be chosen by drawing over it, and buttons that do the same. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import IconButton from "@mui/material/IconButton";
import Tooltip from "@mui/material/Tooltip";
import Typography from "@mui/material/Typography";
import { ChevronLeft, ChevronRight, Maximize2, ZoomIn, ZoomOut } from "lucide-react";
import type { LucideIcon } from "lucide-react";
import type { PointerEvent } from "react";
import { useState } from "react";
import type { TimeWindow } from "./axis";
import { between, isWhole, panned, placeOf, ticksOf, wholeOf, zoomed } from "./axis";
import type { BarName } from "./call-face";
import { BARS } from "./call-face";

interface AxisProps {
  window: TimeWindow;
  span: number;
  onWindow: (window: TimeWindow) => void;
}

// Halves and doubles are what can be undone by the other button.
const CLOSER = 0.5;
const FURTHER = 2;
// Half of what is seen stays in sight.
const ASIDE = 0.5;

export function ZoomButtons({ window, span, onWindow }: AxisProps) {
  const whole = isWhole(window, span);
  const buttons: [string, LucideIcon, TimeWindow, boolean][] = [
    ["Earlier", ChevronLeft, panned(window, -ASIDE, span), window.from <= 0],
    ["Later", ChevronRight, panned(window, ASIDE, span), window.to >= span],
    ["Zoom in", ZoomIn, zoomed(window, CLOSER, span), false],
    ["Zoom out", ZoomOut, zoomed(window, FURTHER, span), whole],
    ["Show all of the time", Maximize2, wholeOf(span), whole],
  ];
  return (
    <Box role="group" aria-label="Time axis" sx={{ display: "flex" }}>
      {buttons.map(([label, Icon, next, disabled]) => (
        <Tooltip key={label} title={label}>
          <span>
            <IconButton size="small" aria-label={label} disabled={disabled} onClick={() => onWindow(next)}>
              <Icon size={16} />
            </IconButton>
          </span>
        </Tooltip>
      ))}
    </Box>
  );
}

const SWATCH = { width: 14, height: 10, borderRadius: 0.5, position: "relative", overflow: "hidden" } as const;

// A tick so close to the end has its label on the left: there is no room beyond.
const LAST_LEFT = 88;
const TICK = {
  position: "absolute",
  top: 0,
  bottom: 0,
  borderLeft: 1,
  borderColor: "divider",
  whiteSpace: "nowrap",
  fontVariantNumeric: "tabular-nums",
  "& > span": { display: "inline-block", px: 0.5 },
  "&[data-left] > span": { transform: "translateX(-100%)" },
} as const;

/** Drawn over, it shows what was drawn over; the buttons do the same for those who do not draw. */
export function Ruler({ window, span, onWindow }: AxisProps) {
  const [drawn, setDrawn] = useState<{ start: number; end: number } | null>(null);
  const shareAt = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const begin = (event: PointerEvent<HTMLElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    setDrawn({ start: shareAt(event), end: shareAt(event) });
  };
  const end = () => {
    const chosen = drawn && between(window, drawn.start, drawn.end, span);
    setDrawn(null);
    if (chosen) onWindow(chosen);
  };
  return (
    <Box
      aria-hidden
      data-testid="ruler"
      onPointerDown={begin}
      onPointerMove={(event) => drawn && setDrawn({ ...drawn, end: shareAt(event) })}
      onPointerUp={end}
      onPointerCancel={() => setDrawn(null)}
      sx={{ position: "relative", height: 22, cursor: "col-resize", touchAction: "pan-y", userSelect: "none", overflow: "hidden" }}
    >
      {ticksOf(window).map(({ at, label }) => (
        <Typography key={at} component="span" variant="caption" color="textSecondary" sx={TICK} {...(placeOf(at, window) > LAST_LEFT ? { "data-left": true } : {})} style={{ left: `${placeOf(at, window)}%` }}>
          <span>{label}</span>
        </Typography>
      ))}
      {drawn && <Box sx={{ position: "absolute", top: 0, bottom: 0, bgcolor: "primary.main", opacity: 0.25 }} style={{ left: `${100 * Math.min(drawn.start, drawn.end)}%`, width: `${100 * Math.abs(drawn.end - drawn.start)}%` }} />}
    </Box>
  );
}

const LEGEND_ENTRY = { display: "inline-flex", alignItems: "center", gap: 0.75, minHeight: 24, fontSize: "0.78rem", color: "text.secondary" } as const;
const LEGEND_BUTTON = { ...LEGEND_ENTRY, px: 0.75, borderRadius: 0.5, "&:hover": { bgcolor: "action.hover" }, "&[aria-pressed=true]": { color: "text.primary", bgcolor: "action.selected" } } as const;

/** What the colours mean; a press on one shows only its calls, another press all of them again. */
export function Legend({ only, onOnly }: { only: BarName | null; onOnly: (only: BarName | null) => void }) {
  return (
    <Box component="ul" aria-label="Legend" sx={{ listStyle: "none", m: 0, p: 0, display: "flex", flexWrap: "wrap", columnGap: 0.5 }}>
      {BARS.map(({ name, label, color }) => (
        <li key={name}>
          <Tooltip describeChild title={only === name ? "Show all calls" : "Show only these"}>
            <ButtonBase aria-pressed={only === name} onClick={() => onOnly(only === name ? null : name)} sx={LEGEND_BUTTON}>
              <Box component="span" aria-hidden sx={{ ...SWATCH, bgcolor: color }} />
              {label}
            </ButtonBase>
          </Tooltip>
        </li>
      ))}
      <Box component="li" sx={{ ...LEGEND_ENTRY, px: 0.75 }}>
        <Box component="span" aria-hidden sx={{ ...SWATCH, bgcolor: "info.main", "&::after": { content: '""', position: "absolute", inset: 0, bgcolor: "background.paper", opacity: 0.55 } }} />
        Until the model's first word
      </Box>
    </Box>
  );
}
