/** The executive summary and the analysis. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { memo } from "react";
import { CopyButton } from "@/components/copy-button";
import { formatCost } from "@/components/format";
import { Markdown } from "@/components/markdown";
import { Section } from "@/components/section";
import { CitedMarkdown } from "@/presentation/cited-text";
import type { CheckedCitations } from "@/presentation/evidence";
import { RECORDED } from "@/presentation/recorded";
import type { PartialAnalysis } from "@/presentation/statuses";
import { partialNotice } from "@/presentation/statuses";
import type { SessionDetail } from "@/wire/types";

interface AnalysisProps {
  session: SessionDetail;
  /** The analysis without sections that are shown in other places. */
  text: string | null;
  checked: CheckedCitations | null;
}

export const Analysis = memo(function Analysis({ session, text, checked }: AnalysisProps) {
  const { executive_summary: summary } = session;
  if (!summary && !text) return null;
  return (
    <Section title="Analysis" actions={<CopyButton text={reportOf(session)} label="Copy" />}>
      <Box sx={{ maxWidth: 860, px: { sm: 1 }, py: { sm: 0.5 } }}>
        {session.analysis_is_partial && (
          <Alert severity="warning" variant="outlined" sx={{ mb: 2 }}>
            {partialNotice(session.analysis_partial_reason)}
          </Alert>
        )}
        {summary && (
          <Box sx={{ fontSize: "1.02rem", borderLeft: 3, borderColor: "primary.main", pl: 2, mb: text ? 3 : 0 }}>
            <Markdown text={summary} />
          </Box>
        )}
        {!summary && session.executive_summary_error && (
          <Typography variant="body2" color="textSecondary" sx={{ mb: 2 }}>
            There is no executive summary: {session.executive_summary_error}
          </Typography>
        )}
        {text && <CitedMarkdown text={text} checked={checked} />}
      </Box>
    </Section>
  );
});

/** The result of a session as one Markdown document, for tickets. */
export function reportOf(session: Pick<SessionDetail, "cost" | "executive_summary" | "final_analysis" | "recorded"> & PartialAnalysis): string {
  const cost = formatCost(session.cost);
  const parts = [
    session.recorded && `> **Recorded model.** ${RECORDED}`,
    session.executive_summary && `# Summary\n\n${session.executive_summary.trim()}`,
    session.analysis_is_partial && `> ${partialNotice(session.analysis_partial_reason)}`,
    session.final_analysis && `# Analysis\n\n${session.final_analysis.trim()}`,
    cost !== null && !session.recorded && `---\n\nCost of the investigation: ${cost}.`,
  ];
  return parts.filter(Boolean).join("\n\n") + "\n";
}
