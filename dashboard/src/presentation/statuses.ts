/** The statuses of sessions, runs and timeline events. A status without a badge does not compile. */
import { Ban, CircleCheck, CirclePause, CircleX, Clock, LoaderCircle, TimerOff, Unplug } from "lucide-react";
import { createContext } from "react";
import type { BadgeStyle } from "@/components/badge";
import type { RunStatus, SessionDetail, SessionStatus, TimelineStatus } from "@/wire/types";

const COMPLETED: BadgeStyle = { label: "Completed", tone: "good", icon: CircleCheck };
const FAILED: BadgeStyle = { label: "Failed", tone: "bad", icon: CircleX };
const TIMED_OUT: BadgeStyle = { label: "Timed out", tone: "warning", icon: TimerOff };
const CANCELLED: BadgeStyle = { label: "Cancelled", tone: "neutral", icon: Ban };
const RUNNING: BadgeStyle = { label: "Running", tone: "running", icon: LoaderCircle, busy: true };

export const SESSION_BADGES = {
  pending: { label: "Queued", tone: "neutral", icon: Clock },
  in_progress: RUNNING,
  waiting: { label: "Waiting", tone: "warning", icon: CirclePause },
  cancelling: { label: "Cancelling", tone: "warning", icon: LoaderCircle, busy: true },
  completed: COMPLETED,
  failed: FAILED,
  timed_out: TIMED_OUT,
  cancelled: CANCELLED,
} satisfies Record<SessionStatus, BadgeStyle>;

/** Of stages and executions. */
export const RUN_BADGES = {
  pending: { label: "Waiting", tone: "neutral", icon: Clock },
  active: RUNNING,
  completed: COMPLETED,
  failed: FAILED,
  timed_out: TIMED_OUT,
  cancelled: CANCELLED,
} satisfies Record<RunStatus, BadgeStyle>;

const RUN_IS_FINAL = { pending: false, active: false, completed: true, failed: true, timed_out: true, cancelled: true } satisfies Record<RunStatus, boolean>;

export function hasRunEnded(status: RunStatus): boolean {
  return RUN_IS_FINAL[status];
}

/** While the session waits, its active stages and executions do not run. */
export const WAITING_RUN_BADGES: typeof RUN_BADGES = { ...RUN_BADGES, active: SESSION_BADGES.waiting };

export const RunBadgesContext = createContext(RUN_BADGES);

export const TIMELINE_BADGES = {
  streaming: { label: "In progress", tone: "running", icon: LoaderCircle, busy: true },
  completed: COMPLETED,
  failed: FAILED,
  cancelled: CANCELLED,
  timed_out: TIMED_OUT,
  interrupted: { label: "Interrupted", tone: "warning", icon: Unplug },
} satisfies Record<TimelineStatus, BadgeStyle>;

const IS_FINAL = {
  pending: false,
  in_progress: false,
  waiting: false,
  cancelling: false,
  completed: true,
  failed: true,
  timed_out: true,
  cancelled: true,
} satisfies Record<SessionStatus, boolean>;

const STATUSES = Object.keys(IS_FINAL) as SessionStatus[];
export const ACTIVE_STATUSES = STATUSES.filter((status) => !hasEnded(status));
export const ENDED_STATUSES = STATUSES.filter(hasEnded);

export function hasEnded(status: SessionStatus): boolean {
  return IS_FINAL[status];
}

/** The error message, or null if it only repeats the status. */
export function distinctReason(badge: BadgeStyle, message: string | null): string | null {
  return message !== null && message.toLowerCase() !== badge.label.toLowerCase() ? message : null;
}

/** Why a session has its status: its error, or who cancelled it. */
export function sessionReason({ status, error_message, cancelled_by }: Pick<SessionDetail, "status" | "error_message" | "cancelled_by">): string | null {
  const reason = distinctReason(SESSION_BADGES[status], error_message);
  if (reason !== null || cancelled_by === null) return reason;
  return status === "cancelling" ? `${cancelled_by} asked it to stop.` : `Cancelled by ${cancelled_by}.`;
}

export type PartialAnalysis = Pick<SessionDetail, "analysis_is_partial" | "analysis_partial_reason">;

/** Old sessions have no stored reason. */
export function partialNotice(reason: string | null | undefined): string {
  return `This analysis is partial. ${reason ?? "The session ended before all stages were done"}`.replace(/[.\s]*$/, ".");
}
