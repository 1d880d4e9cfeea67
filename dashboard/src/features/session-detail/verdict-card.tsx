/** The verdict, before anything else is read: what is wrong, how sure that is, what to do now, and how well it is supported. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { ReactNode } from "react";
import { memo } from "react";
import type { Face } from "@/components/badge";
import { Badge } from "@/components/badge";
import { CopyIcon } from "@/components/copy-button";
import { useMinute } from "@/components/now";
import { Fact, Section } from "@/components/section";
import { MONO } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import { RULED_OUT, takeSection } from "@/presentation/analysis-sections";
import { CitationChip } from "@/presentation/citation-chip";
import type { CheckedCitations } from "@/presentation/citation-states";
import { checkedEvidence } from "@/presentation/citation-states";
import { CONFIDENCE_FACES, confidenceWords, momentOf, objectOf, OUTCOME_FACES, STILL_FACES } from "@/presentation/verdict";
import type { CitationList, SessionDetail, Verdict } from "@/wire/types";
import { DoNow } from "./do-now";
import { Support } from "./support";

interface VerdictCardProps {
  session: SessionDetail;
  /** The section of the analysis that says what to do. */
  doNow: string | null;
  list: CitationList | undefined;
  checked: CheckedCitations | null;
  /** What came of a challenge; null where there was none. */
  challenged: Face | null;
}

// How long ago it was says more than the date for as long as this.
const RECENT_MS = 30 * 86_400_000;
const EDGE = { fault: "error.main", no_fault: "success.main", inconclusive: "warning.main" } satisfies Record<Verdict["outcome"], string>;

export const VerdictCard = memo(function VerdictCard({ session, doNow, list, checked, challenged }: VerdictCardProps) {
  const { verdict, citations, final_analysis: analysis } = session;
  const saysRuledOut = analysis !== null && takeSection(analysis, RULED_OUT).section !== null;
  if (verdict === null && citations === null) return null;
  return (
    <Box sx={verdict ? { "& > section": { borderTop: 3, borderTopColor: EDGE[verdict.outcome] } } : {}}>
      <Section title="Verdict" actions={verdict && <Badges verdict={verdict} challenged={challenged} />}>
        <Stack sx={{ gap: 2 }}>
          {verdict ? <Told verdict={verdict} list={list} /> : <Typography color="textSecondary">No verdict: the agent wrote none, the run was cut short, or several agents ended without a synthesis.</Typography>}
          {doNow !== null && <DoNow text={doNow} checked={checked} />}
          {verdict && verdict.ruled_out.length > 0 && !saysRuledOut && <RuledOut verdict={verdict} list={list} />}
          {citations && <Support sums={citations} checked={list} />}
        </Stack>
      </Section>
    </Box>
  );
});

function Badges({ verdict, challenged }: { verdict: Verdict; challenged: Face | null }) {
  return (
    <Stack direction="row" component="span" sx={{ flexWrap: "wrap", columnGap: 2.5, fontSize: "0.875rem" }}>
      <Badge face={OUTCOME_FACES[verdict.outcome]} />
      <Badge face={CONFIDENCE_FACES[verdict.confidence]} />
      {challenged && <Badge face={challenged} />}
    </Stack>
  );
}

function Told({ verdict, list }: { verdict: Verdict; list: CitationList | undefined }) {
  const object = objectOf(verdict);
  return (
    <Stack sx={{ gap: 1.25 }}>
      {object !== null && (
        <Box sx={{ display: "flex", alignItems: "center", gap: 0.5 }}>
          <Box component="strong" sx={{ fontFamily: MONO, fontSize: "0.95rem", overflowWrap: "anywhere" }}>
            {object}
          </Box>
          <CopyIcon text={() => object} label="Copy the name" />
        </Box>
      )}
      <Typography sx={{ fontSize: "1.08rem", lineHeight: 1.5, overflowWrap: "anywhere" }}>{verdict.mechanism}</Typography>
      <Facts verdict={verdict} list={list} />
    </Stack>
  );
}

function Facts({ verdict, list }: { verdict: Verdict; list: CitationList | undefined }) {
  return (
    <Box component="dl" sx={{ m: 0, display: "flex", flexWrap: "wrap", columnGap: 4, rowGap: 1.25, "& > *": { maxWidth: 420 } }}>
      {verdict.since !== "" && (
        <Fact name="Since">
          <Since since={verdict.since} />
        </Fact>
      )}
      <Fact name="Still happening">
        <Badge face={STILL_FACES[verdict.still_happening]} />
      </Fact>
      <Fact name="How sure">{confidenceWords(verdict)}</Fact>
      {verdict.category !== "" && <Fact name="Category">{verdict.category}</Fact>}
      {verdict.evidence.length > 0 && (
        <Fact name="Rests on">
          <Chips ids={verdict.evidence} list={list} />
        </Fact>
      )}
    </Box>
  );
}

/** A time as such; whatever else was said, as it was said. */
function Since({ since }: { since: string }): ReactNode {
  const now = useMinute();
  const moment = momentOf(since);
  if (moment === null) return since;
  const isRecent = now - Date.parse(moment.at) < RECENT_MS;
  return (
    <>
      {moment.shown}
      {isRecent && (
        <>
          {" "}
          (<RelativeTime at={moment.at} />)
        </>
      )}
    </>
  );
}

function Chips({ ids, list }: { ids: readonly string[]; list: CitationList | undefined }) {
  return (
    <Box component="span" sx={{ display: "inline-flex", flexWrap: "wrap", gap: 0.5, fontSize: "0.92rem" }}>
      {ids.map((id) => (
        <CitationChip key={id} cited={{ evidenceId: id, quotation: null }} checked={list ? checkedEvidence(list.citations, id) : null} />
      ))}
    </Box>
  );
}

function RuledOut({ verdict, list }: { verdict: Verdict; list: CitationList | undefined }) {
  return (
    <Box>
      <Typography variant="caption" color="textSecondary">
        Ruled out
      </Typography>
      <Box component="ul" sx={{ m: 0, pl: 2.5 }}>
        {verdict.ruled_out.map(({ hypothesis, evidence }) => (
          <Typography component="li" variant="body2" key={hypothesis} sx={{ overflowWrap: "anywhere", my: 0.25 }}>
            {hypothesis} <Chips ids={evidence} list={list} />
          </Typography>
        ))}
      </Box>
    </Box>
  );
}
