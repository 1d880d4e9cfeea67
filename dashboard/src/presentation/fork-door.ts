/** The way to take an investigation up again from an entry of its timeline. */
import { createContext } from "react";
import type { TimelineEvent } from "@/wire/types";

/** A step of an agent: by its call, or by an entry that came of it. */
export type ForkAsk = { executionId: string; turn: number } | { executionId: string; at: string };

export interface ForkDoor {
  /** Why an execution cannot be forked, in a sentence for people; null if it can. */
  refusal: (executionId: string) => string | null;
  open: (ask: ForkAsk) => void;
}

/** Null where no model could go on. */
export const ForkDoorContext = createContext<ForkDoor | null>(null);

/** The event that the entry around it shows. */
export const EntryEventContext = createContext<TimelineEvent | null>(null);
