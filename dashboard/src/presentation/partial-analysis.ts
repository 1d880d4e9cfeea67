/** Pure module: what is said of an analysis that is not worth the word "completed". */
import type { SessionDetail } from "@/wire/types";

export type PartialAnalysis = Pick<SessionDetail, "analysis_is_partial" | "analysis_partial_reason">;

/** Sessions of before the reason was stored have none; they were cut short. */
export function partialNotice({ analysis_partial_reason: reason }: PartialAnalysis): string {
  return `This analysis is partial: ${reason ?? "the session ended before all stages were done"}`.replace(/[.\s]*$/, ".");
}
