/** Every status has a face, or this does not compile. Colour is never alone: there is an icon and a word. */
import { Ban, CircleCheck, CirclePause, CircleX, Clock, LoaderCircle, TimerOff, Unplug } from "lucide-react";
import type { Face } from "@/components/badge";
import type { RunStatus, SessionDetail, SessionStatus, TimelineStatus } from "@/wire/types";

const COMPLETED: Face = { label: "Completed", tone: "good", icon: CircleCheck };
const FAILED: Face = { label: "Failed", tone: "bad", icon: CircleX };
const TIMED_OUT: Face = { label: "Timed out", tone: "warning", icon: TimerOff };
const CANCELLED: Face = { label: "Cancelled", tone: "neutral", icon: Ban };
const RUNNING: Face = { label: "Running", tone: "running", icon: LoaderCircle, busy: true };

export const SESSION_FACES = {
  pending: { label: "Queued", tone: "neutral", icon: Clock },
  in_progress: RUNNING,
  waiting: { label: "Waiting", tone: "warning", icon: CirclePause },
  cancelling: { label: "Cancelling", tone: "warning", icon: LoaderCircle, busy: true },
  completed: COMPLETED,
  failed: FAILED,
  timed_out: TIMED_OUT,
  cancelled: CANCELLED,
} satisfies Record<SessionStatus, Face>;

export const RUN_FACES = {
  pending: { label: "Waiting", tone: "neutral", icon: Clock },
  active: RUNNING,
  completed: COMPLETED,
  failed: FAILED,
  timed_out: TIMED_OUT,
  cancelled: CANCELLED,
} satisfies Record<RunStatus, Face>;

export const TIMELINE_FACES = {
  streaming: { label: "In progress", tone: "running", icon: LoaderCircle, busy: true },
  completed: COMPLETED,
  failed: FAILED,
  cancelled: CANCELLED,
  timed_out: TIMED_OUT,
  interrupted: { label: "Interrupted", tone: "warning", icon: Unplug },
} satisfies Record<TimelineStatus, Face>;

/** What an error message adds to a status; nothing if it only repeats it. */
export function reasonBeside(face: Face, message: string | null): string | null {
  return message !== null && message.toLowerCase() !== face.label.toLowerCase() ? message : null;
}

/** Why a session is where it is, beyond its status: what went wrong, or who stopped it. */
export function reasonOf({ status, error_message, cancelled_by }: Pick<SessionDetail, "status" | "error_message" | "cancelled_by">): string | null {
  const reason = reasonBeside(SESSION_FACES[status], error_message);
  if (reason !== null || cancelled_by === null) return reason;
  return status === "cancelling" ? `${cancelled_by} asked it to stop.` : `Cancelled by ${cancelled_by}.`;
}

const ENDED = {
  pending: false,
  in_progress: false,
  waiting: false,
  cancelling: false,
  completed: true,
  failed: true,
  timed_out: true,
  cancelled: true,
} satisfies Record<SessionStatus, boolean>;

export function hasEnded(status: SessionStatus): boolean {
  return ENDED[status];
}
