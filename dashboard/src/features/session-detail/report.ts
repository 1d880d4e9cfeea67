/** Pure module: a session's result as one Markdown document, for tickets and hand-overs. */
import { formatCost } from "@/components/format";
import type { PartialAnalysis } from "@/presentation/partial-analysis";
import { partialNotice } from "@/presentation/partial-analysis";
import { RECORDED } from "@/presentation/recorded";
import type { SessionDetail } from "@/wire/types";

export function reportOf(session: Pick<SessionDetail, "cost" | "executive_summary" | "final_analysis" | "recorded"> & PartialAnalysis): string {
  const cost = formatCost(session.cost);
  const parts = [
    session.recorded && `> **Recorded model.** ${RECORDED}`,
    session.executive_summary && `# Summary\n\n${session.executive_summary.trim()}`,
    session.analysis_is_partial && `> ${partialNotice(session)}`,
    session.final_analysis && `# Analysis\n\n${session.final_analysis.trim()}`,
    cost !== null && !session.recorded && `---\n\nCost of the investigation: ${cost}.`,
  ];
  return parts.filter(Boolean).join("\n\n") + "\n";
}
