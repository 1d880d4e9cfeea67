/** Every severity and state has a face, or this does not compile. Colour is never alone: there is an icon and a word. */
import { BellOff, CircleAlert, CircleCheck, CircleHelp, CircleX, Flame, GitCommitHorizontal, Info, LoaderCircle, OctagonAlert, TriangleAlert } from "lucide-react";
import type { Face } from "@/components/badge";
import type { AlertStatus, ChangeOutcome, IncidentState, Severity } from "@/wire/types";

/** The worst first. */
export const SEVERITY_FACES = {
  critical: { label: "Critical", tone: "bad", icon: OctagonAlert },
  high: { label: "High", tone: "bad", icon: CircleAlert },
  warning: { label: "Warning", tone: "warning", icon: TriangleAlert },
  unknown: { label: "Unknown", tone: "neutral", icon: CircleHelp },
  info: { label: "Info", tone: "neutral", icon: Info },
} satisfies Record<Severity, Face>;

export const STATE_FACES = {
  open: { label: "Open", tone: "bad", icon: Flame },
  resolved: { label: "Resolved", tone: "good", icon: CircleCheck },
} satisfies Record<IncidentState, Face>;

export const ALERT_FACES = {
  firing: { label: "Firing", tone: "bad", icon: Flame },
  resolved: { label: "Resolved", tone: "good", icon: CircleCheck },
} satisfies Record<AlertStatus, Face>;

export const CHANGE_FACES = {
  started: { label: "Started", tone: "running", icon: LoaderCircle },
  succeeded: { label: "Done", tone: "neutral", icon: GitCommitHorizontal },
  failed: { label: "Failed", tone: "bad", icon: CircleX },
  unknown: { label: "Changed", tone: "neutral", icon: GitCommitHorizontal },
} satisfies Record<ChangeOutcome, Face>;

export const MUTED: Face = { label: "Muted", tone: "warning", icon: BellOff };
