/** Pure module: a verdict in words. Every outcome and confidence has a face, or this does not compile. */
import { CircleCheck, CircleHelp, ShieldAlert, SignalHigh, SignalLow, SignalMedium } from "lucide-react";
import type { Face } from "@/components/badge";
import type { CitationSums, Confidence, Verdict, VerdictOutcome } from "@/wire/types";

export const OUTCOME_FACES = {
  fault: { label: "Fault found", tone: "bad", icon: ShieldAlert },
  no_fault: { label: "No fault", tone: "good", icon: CircleCheck },
  inconclusive: { label: "Inconclusive", tone: "warning", icon: CircleHelp },
} satisfies Record<VerdictOutcome, Face>;

export const CONFIDENCE_FACES = {
  high: { label: "High confidence", tone: "good", icon: SignalHigh },
  medium: { label: "Medium confidence", tone: "warning", icon: SignalMedium },
  low: { label: "Low confidence", tone: "warning", icon: SignalLow },
} satisfies Record<Confidence, Face>;

const STILL = { yes: "yes", no: "no", unknown: "not known" } satisfies Record<Verdict["still_happening"], string>;

/** `Pod shop/cart-1`; null when the verdict names no object. */
export function objectOf({ object }: Pick<Verdict, "object">): string | null {
  if (object === null) return null;
  const place = [object.namespace, object.name].filter(Boolean).join("/");
  return [object.kind, place].filter(Boolean).join(" ");
}

/** The small facts of a verdict, those that it says something about. */
export function factsOf(verdict: Verdict): [name: string, value: string][] {
  const facts: [string, string][] = [
    ["Affected", objectOf(verdict) ?? ""],
    ["Since", verdict.since],
    ["Still happening", STILL[verdict.still_happening]],
    ["Category", verdict.category],
    ["Rests on", verdict.evidence.join(", ")],
  ];
  return facts.filter(([, value]) => value !== "");
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
