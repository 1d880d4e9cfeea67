/** What the reader came for: the summary and the analysis. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { memo } from "react";
import { CopyButton } from "@/components/copy-button";
import { Markdown } from "@/components/markdown";
import { Section } from "@/components/section";
import type { CheckedCitations } from "@/presentation/citation-states";
import { CitedMarkdown } from "@/presentation/cited-text";
import { partialNotice } from "@/presentation/partial-analysis";
import type { SessionDetail } from "@/wire/types";
import { reportOf } from "./report";

interface AnalysisProps {
  session: SessionDetail;
  /** The text, or what of it is not shown elsewhere. */
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
            {partialNotice(session)}
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
