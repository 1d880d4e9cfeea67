/** The time axis of a trace: the visible window, a ruler on which a part can be selected, zoom buttons and the legend. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import IconButton from "@mui/material/IconButton";
import Tooltip from "@mui/material/Tooltip";
import Typography from "@mui/material/Typography";
import type { LucideIcon } from "lucide-react";
import { ChevronLeft, ChevronRight, Maximize2, ZoomIn, ZoomOut } from "lucide-react";
import type { PointerEvent } from "react";
import { useState } from "react";
import { formatDuration } from "@/components/format";
import type { BarName } from "./waterfall";
import { BARS } from "./waterfall";

interface AxisProps {
  window: TimeWindow;
  span: number;
  onWindow: (window: TimeWindow) => void;
}

// Each zoom button undoes the other.
const ZOOM_IN = 0.5;
const ZOOM_OUT = 2;
// Half of the window stays visible.
const PAN = 0.5;

export function ZoomButtons({ window, span, onWindow }: AxisProps) {
  const whole = isWhole(window, span);
  const buttons: [string, LucideIcon, TimeWindow, boolean][] = [
    ["Earlier", ChevronLeft, panWindow(window, -PAN, span), window.from <= 0],
    ["Later", ChevronRight, panWindow(window, PAN, span), window.to >= span],
    ["Zoom in", ZoomIn, zoomWindow(window, ZOOM_IN, span), false],
    ["Zoom out", ZoomOut, zoomWindow(window, ZOOM_OUT, span), whole],
    ["Show all of the time", Maximize2, wholeWindow(span), whole],
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

// From here on, in percent, the label of a tick is to its left.
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

/** Zooms to the part that is dragged over. The zoom buttons do the same by keyboard. */
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
    const chosen = drawn && selectedWindow(window, drawn.start, drawn.end, span);
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
        <Typography key={at} component="span" variant="caption" color="textSecondary" sx={TICK} {...(percentOf(at, window) > LAST_LEFT ? { "data-left": true } : {})} style={{ left: `${percentOf(at, window)}%` }}>
          <span>{label}</span>
        </Typography>
      ))}
      {drawn && <Box sx={{ position: "absolute", top: 0, bottom: 0, bgcolor: "primary.main", opacity: 0.25 }} style={{ left: `${100 * Math.min(drawn.start, drawn.end)}%`, width: `${100 * Math.abs(drawn.end - drawn.start)}%` }} />}
    </Box>
  );
}

const LEGEND_ENTRY = { display: "inline-flex", alignItems: "center", gap: 0.75, minHeight: 24, fontSize: "0.78rem", color: "text.secondary" } as const;
const LEGEND_BUTTON = { ...LEGEND_ENTRY, px: 0.75, borderRadius: 0.5, "&:hover": { bgcolor: "action.hover" }, "&[aria-pressed=true]": { color: "text.primary", bgcolor: "action.selected" } } as const;

/** The meaning of the colours. A click on one filters by it, another click removes the filter. */
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

/** From and to, in milliseconds since the first call. */
export interface TimeWindow {
  from: number;
  to: number;
}

// Times are in whole milliseconds: there is nothing more to see in a smaller window.
const NARROWEST_MS = 10;
// More labels do not fit in half of a page.
const MOST_TICKS = 6;
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000];

export function wholeWindow(span: number): TimeWindow {
  return { from: 0, to: Math.max(1, span) };
}

export function isWhole(window: TimeWindow, span: number): boolean {
  return window.from <= 0 && window.to >= span;
}

/** A factor below 1 zooms in. `at` keeps its position; by default the middle does. */
export function zoomWindow(window: TimeWindow, factor: number, span: number, at = (window.from + window.to) / 2): TimeWindow {
  const width = Math.min(span, Math.max(NARROWEST_MS, (window.to - window.from) * factor));
  const share = (at - window.from) / (window.to - window.from);
  return clampWindow({ from: at - width * share, to: at + width * (1 - share) }, span);
}

/** Moves the window by a share of its width. */
export function panWindow(window: TimeWindow, share: number, span: number): TimeWindow {
  const by = (window.to - window.from) * share;
  return clampWindow({ from: window.from + by, to: window.to + by }, span);
}

/** The window between two shares of the current one, in any order; null if it is too small to be intended. */
export function selectedWindow(window: TimeWindow, start: number, end: number, span: number): TimeWindow | null {
  const [low, high] = start < end ? [start, end] : [end, start];
  if (high - low < 0.01) return null;
  const width = window.to - window.from;
  return zoomWindow({ from: window.from + low * width, to: window.from + high * width }, 1, span);
}

/** The window, moved if the call is not in it. */
export function windowWith(window: TimeWindow, call: { start: number; duration: number }, span: number): TimeWindow {
  const end = call.start + call.duration;
  if (call.start < window.to && end > window.from) return window;
  const width = window.to - window.from;
  const from = call.start - width / 4;
  return clampWindow({ from, to: from + width }, span);
}

function clampWindow({ from, to }: TimeWindow, span: number): TimeWindow {
  const width = to - from;
  const start = Math.min(Math.max(0, from), Math.max(0, span - width));
  return { from: start, to: start + width };
}

interface Tick {
  at: number;
  label: string;
}

export function ticksOf({ from, to }: TimeWindow): Tick[] {
  const step = STEPS.find((candidate) => (to - from) / candidate <= MOST_TICKS) ?? Math.ceil((to - from) / MOST_TICKS / 3_600_000) * 3_600_000;
  const ticks: Tick[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push({ at, label: labelOf(at, step) });
  return ticks;
}

/** With enough digits that neighbouring ticks have different labels. */
function labelOf(at: number, step: number): string {
  if (at === 0) return "0";
  if (at < 1_000 || step >= 1_000) return formatDuration(at);
  const digits = step >= 100 ? 1 : step >= 10 ? 2 : 3;
  return `${(at / 1_000).toFixed(digits)} s`;
}

/** The position of a time in the window, in percent. */
function percentOf(at: number, { from, to }: TimeWindow): number {
  return (100 * (at - from)) / (to - from);
}

interface Bar {
  /** Of the track, in percent. */
  left: number;
  width: number;
  /** `left` as a share of the free space, in percent: the `background-position` of CSS. */
  along: number;
}

/** The part of a time span that is in the window. */
export function barOf(start: number, end: number, window: TimeWindow): Bar {
  const left = Math.min(100, Math.max(0, percentOf(start, window)));
  const width = Math.min(100, Math.max(0, percentOf(end, window))) - left;
  return { left, width, along: width < 100 ? (100 * left) / (100 - width) : 0 };
}
