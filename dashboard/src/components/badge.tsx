/** An icon and a word in the colour of a tone. */
import Box from "@mui/material/Box";
import type { LucideIcon } from "lucide-react";

/** The few meanings a colour may have. A tone is always shown together with an icon or a word. */
type Tone = "neutral" | "running" | "good" | "warning" | "bad";

const COLOR = {
  neutral: "text.secondary",
  running: "info.main",
  good: "success.main",
  warning: "warning.main",
  bad: "error.main",
} satisfies Record<Tone, string>;

export interface Face {
  label: string;
  tone: Tone;
  icon: LucideIcon;
  /** Something is going on: the icon turns, unless the reader asked for less motion. */
  busy?: boolean;
}

const TURN = {
  "@keyframes turn": { to: { transform: "rotate(360deg)" } },
  animation: "turn 1.6s linear infinite",
  "@media (prefers-reduced-motion: reduce)": { animation: "none" },
};

export function FaceIcon({ face, size = 16 }: { face: Face; size?: number }) {
  const Icon = face.icon;
  return (
    <Box component="span" sx={{ display: "inline-flex", color: COLOR[face.tone], ...(face.busy ? TURN : {}) }}>
      <Icon size={size} aria-hidden />
    </Box>
  );
}

export function Badge({ face, label = face.label }: { face: Face; label?: string }) {
  return (
    <Box
      component="span"
      sx={{ display: "inline-flex", alignItems: "center", verticalAlign: "bottom", gap: 0.75, whiteSpace: "nowrap", fontWeight: 600, color: COLOR[face.tone] }}
    >
      <FaceIcon face={face} />
      {label}
    </Box>
  );
}
