/** Verdicts: badges and descriptions. An outcome or confidence without a badge does not compile. */
import { CircleCheck, CircleHelp, Flame, ShieldAlert, SignalHigh, SignalLow, SignalMedium } from "lucide-react";
import type { BadgeStyle } from "@/components/badge";
import { plural } from "@/components/format";
import type { CitationSums, Confidence, Verdict, VerdictOutcome } from "@/wire/types";

export const OUTCOME_BADGES = {
  fault: { label: "Fault", tone: "bad", icon: ShieldAlert },
  no_fault: { label: "No fault", tone: "good", icon: CircleCheck },
  inconclusive: { label: "Inconclusive", tone: "warning", icon: CircleHelp },
} satisfies Record<VerdictOutcome, BadgeStyle>;

const SUSPECTED: BadgeStyle = { label: "Suspected fault", tone: "warning", icon: ShieldAlert };

export interface JudgedOutcome {
  outcome: VerdictOutcome;
  confidence: Confidence | null;
}

/** The badge of a verdict: a fault that was hardly observed is suspected, not found. */
export function outcomeBadge({ outcome, confidence }: JudgedOutcome): BadgeStyle {
  return outcome === "fault" && confidence === "low" ? SUSPECTED : OUTCOME_BADGES[outcome];
}

export function parseOutcome(name: string | undefined): VerdictOutcome | undefined {
  return (Object.keys(OUTCOME_BADGES) as VerdictOutcome[]).find((outcome) => outcome === name);
}

export const CONFIDENCE_BADGES = {
  high: { label: "High confidence", tone: "good", icon: SignalHigh },
  medium: { label: "Medium confidence", tone: "warning", icon: SignalMedium },
  low: { label: "Low confidence", tone: "warning", icon: SignalLow },
} satisfies Record<Confidence, BadgeStyle>;

export const STILL_HAPPENING_BADGES = {
  yes: { label: "Yes", tone: "bad", icon: Flame },
  no: { label: "No", tone: "good", icon: CircleCheck },
  unknown: { label: "Not known", tone: "neutral", icon: CircleHelp },
} satisfies Record<Verdict["still_happening"], BadgeStyle>;

const MEANING = {
  high: "observed directly, alternatives excluded",
  medium: "one link is inferred",
  low: "a correlation",
} satisfies Record<Confidence, string>;

/** Explains the confidence: what the agent claimed, or why it was lowered. */
export function describeConfidence(verdict: Pick<Verdict, "confidence" | "confidence_object" | "confidence_mechanism" | "confidence_reason">): string {
  const { confidence_object: object, confidence_mechanism: mechanism, confidence_reason: reason } = verdict;
  if (reason !== "") return `${capital(verdict.confidence)}, although the agent claimed more: ${reason}.`;
  if (object === mechanism) return `${capital(object)}: ${MEANING[object]}.`;
  return `Object ${object} (${MEANING[object]}), mechanism ${mechanism} (${MEANING[mechanism]}).`;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

const ISO = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** A time with a zone, converted to UTC as in logs; null for any other text. */
export function utcTime(time: string): { at: string; text: string } | null {
  if (!ISO.test(time) || Number.isNaN(Date.parse(time))) return null;
  const at = new Date(time).toISOString();
  return { at, text: `${at.replace("T", " ").slice(0, 19)} UTC` };
}

/** `Pod shop/cart-1`; null when the verdict names no object. */
export function verdictObject({ object }: Pick<Verdict, "object">): string | null {
  if (object === null) return null;
  const place = [object.namespace, object.name].filter(Boolean).join("/");
  return [object.kind, place].filter(Boolean).join(" ");
}

/** The result of checking the citations, as one sentence. */
export function citationSummary(sums: CitationSums): string {
  if (sums.cited === 0) return sums.uncited === 0 ? "Nothing was cited." : `Nothing was cited, so nothing could be verified: ${plural(sums.uncited, "statement")} without a source.`;
  const uncited = sums.uncited > 0 ? `; ${plural(sums.uncited, "statement")} without a source` : "";
  return `${plural(sums.verified, "quotation")} verified, ${sums.failed} failed, ${sums.id_only} by id only${uncited}.`;
}
