/** The way to take an investigation up again from an entry of its timeline. */
import { createContext } from "react";
import type { TimelineEvent } from "@/wire/types";

/** A step of an agent: by its call, or by an entry that came of it. */
export type ForkAsk = { executionId: string; turn: number } | { executionId: string; at: string };

export interface ForkDoor {
  /** The executions that can be forked: not those that others sent, nor answers to questions. */
  executions: ReadonlySet<string>;
  open: (ask: ForkAsk) => void;
}

/** Null where nothing can be forked: while the session runs, and where no model could go on. */
export const ForkDoorContext = createContext<ForkDoor | null>(null);

/** The event that the entry around it shows. */
export const EntryEventContext = createContext<TimelineEvent | null>(null);
