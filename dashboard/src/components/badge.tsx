/** An icon and a label in the colour of a status, and text for screen readers. */
import Box from "@mui/material/Box";
import type { LucideIcon } from "lucide-react";

/** The meaning of a colour. Colour is never the only sign: an icon or a label comes with it. */
type Tone = "neutral" | "running" | "good" | "warning" | "bad";

export const TONE_COLORS = {
  neutral: "text.secondary",
  running: "info.main",
  good: "success.main",
  warning: "warning.main",
  bad: "error.main",
} satisfies Record<Tone, string>;

export interface BadgeStyle {
  label: string;
  tone: Tone;
  icon: LucideIcon;
  /** In progress: the icon rotates, unless the user prefers reduced motion. */
  busy?: boolean;
}

const ROTATION = {
  "@keyframes turn": { to: { transform: "rotate(360deg)" } },
  animation: "turn 1.6s linear infinite",
  "@media (prefers-reduced-motion: reduce)": { animation: "none" },
};

export function BadgeIcon({ badge, size = 16 }: { badge: BadgeStyle; size?: number }) {
  const Icon = badge.icon;
  return (
    <Box component="span" sx={{ display: "inline-flex", color: TONE_COLORS[badge.tone], ...(badge.busy ? ROTATION : {}) }}>
      <Icon size={size} aria-hidden />
    </Box>
  );
}

export function Badge({ badge, label = badge.label }: { badge: BadgeStyle; label?: string }) {
  return (
    <Box
      component="span"
      sx={{ display: "inline-flex", alignItems: "center", verticalAlign: "bottom", gap: 0.75, whiteSpace: "nowrap", fontWeight: 600, color: TONE_COLORS[badge.tone] }}
    >
      <BadgeIcon badge={badge} />
      {label}
    </Box>
  );
}

const VISUALLY_HIDDEN = { position: "absolute", width: "1px", height: "1px", overflow: "hidden", clipPath: "inset(50%)", whiteSpace: "nowrap" } as const;

export function VisuallyHidden({ children }: { children: string }) {
  return (
    <Box component="span" sx={VISUALLY_HIDDEN}>
      {children}
    </Box>
  );
}
