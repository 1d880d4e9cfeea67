/** The verdict, before anything else is read: what is wrong, how sure that is, and how well it is supported. */
import Box from "@mui/material/Box";
import LinearProgress from "@mui/material/LinearProgress";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { memo } from "react";
import { Badge } from "@/components/badge";
import { Fact, Section } from "@/components/section";
import { CONFIDENCE_FACES, citationsLine, factsOf, OUTCOME_FACES } from "@/presentation/verdict";
import type { CitationSums, SessionDetail, Verdict } from "@/wire/types";

export const VerdictCard = memo(function VerdictCard({ session }: { session: SessionDetail }) {
  const { verdict, citations } = session;
  if (verdict === null && citations === null) return null;
  return (
    <Section title="Verdict">
      <Stack sx={{ gap: 2, maxWidth: 860 }}>
        {verdict ? <Told verdict={verdict} /> : <Typography color="textSecondary">No verdict: the run was cut short, or several agents concluded without a synthesis.</Typography>}
        {citations && <Support sums={citations} />}
      </Stack>
    </Section>
  );
});

function Told({ verdict }: { verdict: Verdict }) {
  return (
    <>
      <Stack direction="row" sx={{ flexWrap: "wrap", columnGap: 3, rowGap: 1 }}>
        <Badge face={OUTCOME_FACES[verdict.outcome]} />
        <Badge face={CONFIDENCE_FACES[verdict.confidence]} />
      </Stack>
      <Typography sx={{ fontSize: "1.05rem", overflowWrap: "anywhere" }}>{verdict.mechanism}</Typography>
      {verdict.confidence_reason && (
        <Typography variant="body2" color="textSecondary">
          {verdict.confidence_reason}
        </Typography>
      )}
      <Box component="dl" sx={{ m: 0, display: "grid", gap: 1.5, gridTemplateColumns: "repeat(auto-fill, minmax(180px, 1fr))" }}>
        {factsOf(verdict).map(([name, value]) => (
          <Fact key={name} name={name}>
            {value}
          </Fact>
        ))}
      </Box>
      {verdict.ruled_out.length > 0 && <RuledOut verdict={verdict} />}
    </>
  );
}

function RuledOut({ verdict }: { verdict: Verdict }) {
  return (
    <Box>
      <Typography variant="caption" color="textSecondary">
        Ruled out
      </Typography>
      <Box component="ul" sx={{ m: 0, pl: 2.5 }}>
        {verdict.ruled_out.map(({ hypothesis, evidence }) => (
          <Typography component="li" variant="body2" key={hypothesis} sx={{ overflowWrap: "anywhere" }}>
            {hypothesis}
            {evidence.length > 0 && ` [${evidence.join(", ")}]`}
          </Typography>
        ))}
      </Box>
    </Box>
  );
}

function Support({ sums }: { sums: CitationSums }) {
  const line = citationsLine(sums);
  return (
    <Box>
      {sums.cited > 0 && <LinearProgress variant="determinate" value={(100 * sums.verified) / sums.cited} color={sums.failed > 0 ? "warning" : "success"} aria-label={line} sx={{ height: 6, borderRadius: 3, mb: 0.75 }} />}
      <Typography variant="body2" color={sums.failed > 0 || sums.cited === 0 ? "warning.main" : "textSecondary"}>
        {line}
      </Typography>
    </Box>
  );
}
