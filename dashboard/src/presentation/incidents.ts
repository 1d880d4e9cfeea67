/** Badges of incidents, alerts and changes. A severity or state without a badge does not compile. */
import { BellOff, CircleAlert, CircleCheck, CircleHelp, CircleX, Flame, GitCommitHorizontal, Info, LoaderCircle, OctagonAlert, TriangleAlert } from "lucide-react";
import type { BadgeStyle } from "@/components/badge";
import type { AlertStatus, ChangeOutcome, IncidentState, Severity } from "@/wire/types";

/** In order of severity, the worst first. */
export const SEVERITY_BADGES = {
  critical: { label: "Critical", tone: "bad", icon: OctagonAlert },
  high: { label: "High", tone: "bad", icon: CircleAlert },
  warning: { label: "Warning", tone: "warning", icon: TriangleAlert },
  unknown: { label: "Unknown", tone: "neutral", icon: CircleHelp },
  info: { label: "Info", tone: "neutral", icon: Info },
} satisfies Record<Severity, BadgeStyle>;

export const STATE_BADGES = {
  open: { label: "Open", tone: "bad", icon: Flame },
  resolved: { label: "Resolved", tone: "good", icon: CircleCheck },
} satisfies Record<IncidentState, BadgeStyle>;

export const ALERT_BADGES = {
  firing: { label: "Firing", tone: "bad", icon: Flame },
  resolved: { label: "Resolved", tone: "good", icon: CircleCheck },
} satisfies Record<AlertStatus, BadgeStyle>;

export const CHANGE_BADGES = {
  started: { label: "Started", tone: "running", icon: LoaderCircle },
  succeeded: { label: "Done", tone: "neutral", icon: GitCommitHorizontal },
  failed: { label: "Failed", tone: "bad", icon: CircleX },
  unknown: { label: "Changed", tone: "neutral", icon: GitCommitHorizontal },
} satisfies Record<ChangeOutcome, BadgeStyle>;

export const MUTED: BadgeStyle = { label: "Muted", tone: "warning", icon: BellOff };
