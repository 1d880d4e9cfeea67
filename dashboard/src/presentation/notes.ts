/** Every kind and state of a note has a face, or this does not compile. */
import { BellRing, CheckCheck, CircleCheck, Clock, Hourglass, Lightbulb } from "lucide-react";
import type { Face } from "@/components/badge";
import type { NoteKind, NoteState } from "@/wire/types";

export const NOTE_FACES = {
  hint: { label: "Hint", tone: "running", icon: Lightbulb },
  alerts: { label: "News of the alerts", tone: "warning", icon: BellRing },
  resolved: { label: "The alerts are over", tone: "good", icon: CircleCheck },
} satisfies Record<NoteKind, Face>;

export const NOTE_STATE_FACES = {
  waiting: { label: "Told before the next call", tone: "running", icon: Hourglass },
  delivered: { label: "Told", tone: "good", icon: CheckCheck },
  too_late: { label: "Came too late", tone: "warning", icon: Clock },
} satisfies Record<NoteState, Face>;

/** The face of a note as a timeline entry names it; a newer server may have kinds that this page does not know. */
export function noteFace(kind: unknown): Face | undefined {
  return new Map<unknown, Face>(Object.entries(NOTE_FACES)).get(kind);
}
