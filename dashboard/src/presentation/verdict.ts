/** Pure module: a verdict in words. Every outcome and confidence has a face, or this does not compile. */
import { CircleCheck, CircleHelp, Flame, ShieldAlert, SignalHigh, SignalLow, SignalMedium } from "lucide-react";
import type { Face } from "@/components/badge";
import type { CitationSums, Confidence, Verdict, VerdictOutcome } from "@/wire/types";

export const OUTCOME_FACES = {
  fault: { label: "Fault found", tone: "bad", icon: ShieldAlert },
  no_fault: { label: "No fault", tone: "good", icon: CircleCheck },
  inconclusive: { label: "Inconclusive", tone: "warning", icon: CircleHelp },
} satisfies Record<VerdictOutcome, Face>;

export function outcomeOf(name: string | undefined): VerdictOutcome | undefined {
  return (Object.keys(OUTCOME_FACES) as VerdictOutcome[]).find((outcome) => outcome === name);
}

export const CONFIDENCE_FACES = {
  high: { label: "High confidence", tone: "good", icon: SignalHigh },
  medium: { label: "Medium confidence", tone: "warning", icon: SignalMedium },
  low: { label: "Low confidence", tone: "warning", icon: SignalLow },
} satisfies Record<Confidence, Face>;

export const STILL_FACES = {
  yes: { label: "Yes", tone: "bad", icon: Flame },
  no: { label: "No", tone: "good", icon: CircleCheck },
  unknown: { label: "Not known", tone: "neutral", icon: CircleHelp },
} satisfies Record<Verdict["still_happening"], Face>;

const MEANING = {
  high: "observed directly, alternatives excluded",
  medium: "one link is inferred",
  low: "a correlation",
} satisfies Record<Confidence, string>;

/** Why the confidence is what it is: what was claimed, or what lowered it. */
export function confidenceWords(verdict: Pick<Verdict, "confidence" | "confidence_object" | "confidence_mechanism" | "confidence_reason">): string {
  const { confidence_object: object, confidence_mechanism: mechanism, confidence_reason: reason } = verdict;
  if (reason !== "") return `${capital(verdict.confidence)}, though more was claimed: ${reason}.`;
  if (object === mechanism) return `${capital(object)}: ${MEANING[object]}.`;
  return `Object ${object} (${MEANING[object]}), mechanism ${mechanism} (${MEANING[mechanism]}).`;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

const ISO = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** A time that says its zone, in UTC as logs have it; null for any other words. */
export function momentOf(since: string): { at: string; shown: string } | null {
  if (!ISO.test(since) || Number.isNaN(Date.parse(since))) return null;
  const at = new Date(since).toISOString();
  return { at, shown: `${at.replace("T", " ").slice(0, 19)} UTC` };
}

/** `Pod shop/cart-1`; null when the verdict names no object. */
export function objectOf({ object }: Pick<Verdict, "object">): string | null {
  if (object === null) return null;
  const place = [object.namespace, object.name].filter(Boolean).join("/");
  return [object.kind, place].filter(Boolean).join(" ");
}

/** What checking the citations came to, as one sentence. */
export function citationsLine(sums: CitationSums): string {
  if (sums.cited === 0) return sums.uncited === 0 ? "Nothing was cited." : `Nothing was cited, so nothing could be verified: ${count(sums.uncited, "statement")} without a source.`;
  const rest = [
    sums.id_only > 0 && `${sums.id_only} without a quotation`,
    sums.failed > 0 && `${sums.failed} failed`,
    sums.uncited > 0 && `${count(sums.uncited, "statement")} without a source`,
  ].filter(Boolean);
  return `${sums.verified} of ${count(sums.cited, "citation")} verified${rest.length > 0 ? `; ${rest.join(", ")}` : ""}.`;
}

function count(number: number, of: string): string {
  return `${number} ${of}${number === 1 ? "" : "s"}`;
}
