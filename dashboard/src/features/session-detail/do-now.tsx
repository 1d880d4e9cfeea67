/** What to do first: the section of the analysis that says so, with commands to copy, and each action's risk, check and way back on lines of their own. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { useId } from "react";
import type { Marks } from "@/components/markdown-marks";
import { aspects } from "@/presentation/analysis-sections";
import { CITATIONS, CitedMarkdown } from "@/presentation/cited-text";
import type { CheckedCitations } from "@/presentation/citation-states";

export function DoNow({ text, checked }: { text: string; checked: CheckedCitations | null }) {
  const id = useId();
  return (
    <Box component="section" aria-labelledby={id} sx={{ borderLeft: 3, borderColor: "primary.main", pl: 2, py: 0.25, "& .aspect": { color: "text.secondary", fontWeight: 650, mr: 0.5 }, "& .aspect-break": { display: "block", height: 4 }, "& .code-block > :last-child": { opacity: 1 }, "& pre": { pr: 5 } }}>
      <Typography id={id} variant="h3" sx={{ mb: 0.5 }}>
        Do now
      </Typography>
      <CitedMarkdown text={text} checked={checked} marks={MARKS} />
    </Box>
  );
}

function Mark({ text }: { text: string }) {
  if (text.startsWith("[")) return <CITATIONS.Mark text={text} />;
  return (
    <>
      <span className="aspect-break" />
      <strong className="aspect">{text}</strong>
    </>
  );
}

const MARKS: Marks = {
  spansOf: (text) => [...CITATIONS.spansOf(text), ...aspects(text)].toSorted((a, b) => a.start - b.start),
  Mark,
};
