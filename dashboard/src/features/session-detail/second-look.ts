/** Pure module: what came of a challenge of the verdict, by an agent that tried to refute it. */
import { ShieldCheck, ShieldQuestionMark, ShieldX } from "lucide-react";
import type { Face } from "@/components/badge";
import type { SessionDetail, TimelineEvent } from "@/wire/types";

const FACES = {
  upheld: { label: "Upheld by a second look", tone: "good", icon: ShieldCheck },
  weakened: { label: "Weakened by a second look", tone: "warning", icon: ShieldQuestionMark },
  refuted: { label: "Refuted by a second look, and answered anew", tone: "warning", icon: ShieldX },
} satisfies Record<string, Face>;
const UNTOLD: Face = { label: "A second look came to no result", tone: "neutral", icon: ShieldQuestionMark };

// As the server reads it: the last line that names a result counts.
const RESULT = /^[\s>*`-]*result[\s*`]*:[\s*`]*(upheld|weakened|refuted)\b/gim;

/** Null where there was none. */
export function secondLook(session: Pick<SessionDetail, "stages">, events: readonly Pick<TimelineEvent, "stage_id" | "event_type" | "content">[]): Face | null {
  const challenge = session.stages.findLast((stage) => stage.stage_type === "challenge");
  if (!challenge) return null;
  const said = events.findLast((event) => event.stage_id === challenge.id && event.event_type === "final_analysis")?.content ?? "";
  const result = [...said.matchAll(RESULT)].at(-1)?.[1]?.toLowerCase();
  // Without evidence a refutation counts for less, and then nothing was answered anew.
  const answered = session.stages.some((stage) => stage.stage_index > challenge.stage_index && stage.stage_type === "synthesis");
  if (result === "refuted") return answered ? FACES.refuted : FACES.weakened;
  return result === "upheld" || result === "weakened" ? FACES[result] : UNTOLD;
}
