/** The verdict: outcome, confidence, facts, what to do now, hypotheses that were ruled out, and the support by citations. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { ShieldCheck, ShieldQuestionMark, ShieldX } from "lucide-react";
import type { ReactNode } from "react";
import { memo, useId } from "react";
import type { BadgeStyle } from "@/components/badge";
import { Badge, TONE_COLORS } from "@/components/badge";
import { CopyIcon } from "@/components/copy-button";
import type { Marks } from "@/components/markdown-marks";
import { Fact, Section } from "@/components/section";
import { Failure } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { RelativeTime, useMinute } from "@/components/times";
import { actionLabels, extractSection, RULED_OUT } from "./citations";
import { CitationLink, CITATIONS, CitedMarkdown } from "./cited-text";
import type { CheckedCitations } from "./evidence";
import { checkedEvidence } from "./evidence";
import { StatusBadge } from "./session-status";
import { CONFIDENCE_BADGES, describeConfidence, outcomeBadge, STILL_HAPPENING_BADGES, utcTime, verdictObject } from "./verdict";
import type { CitationList, SessionDetail, TimelineEvent, Verdict } from "@/wire/types";
import { CitationSupport } from "./citation-support";

interface VerdictCardProps {
  session: SessionDetail;
  /** The "Do now" section of the analysis. */
  doNow: string | null;
  list: CitationList | undefined;
  checked: CheckedCitations | null;
  /** Why the citations could not be loaded. */
  error: Error | null;
  /** The result of a challenge; null if there was none. */
  challenge?: BadgeStyle | null;
  /** More beside the badges. */
  actions?: ReactNode;
}

export const VerdictCard = memo(function VerdictCard({ session, doNow, list, checked, error, challenge = null, actions }: VerdictCardProps) {
  const { verdict, citations, final_analysis: analysis } = session;
  if (verdict === null && citations === null) return null;
  const analysisHasRuledOut = analysis !== null && extractSection(analysis, RULED_OUT).section !== null;
  const badges = (
    <Stack direction="row" component="span" sx={{ flexWrap: "wrap", columnGap: 2.5, fontSize: "0.875rem" }}>
      <span>
        <StatusBadge session={session} />
      </span>
      {verdict && <Badge badge={CONFIDENCE_BADGES[verdict.confidence]} />}
      {challenge && <Badge badge={challenge} />}
      {actions}
    </Stack>
  );
  return (
    <Box sx={verdict ? { "& > section": { borderTop: 3, borderTopColor: TONE_COLORS[outcomeBadge(verdict).tone] } } : {}}>
      <Section title="Verdict" actions={badges}>
        <Stack sx={{ gap: 2 }}>
          {verdict ? <Finding verdict={verdict} /> : <Typography color="textSecondary">No verdict: the agent wrote none, the run was cut short, or several agents ended without a synthesis.</Typography>}
          {doNow !== null && <DoNow text={doNow} checked={checked} />}
          {verdict && <VerdictFacts verdict={verdict} list={list} />}
          {verdict && verdict.ruled_out.length > 0 && !analysisHasRuledOut && (
            <Box>
              <Typography variant="caption" color="textSecondary">
                Ruled out
              </Typography>
              <Box component="ul" sx={{ m: 0, pl: 2.5 }}>
                {verdict.ruled_out.map(({ hypothesis, evidence }, index) => (
                  <Typography component="li" variant="body2" key={index} sx={{ overflowWrap: "anywhere", my: 0.25 }}>
                    {hypothesis} <EvidenceIds ids={evidence} list={list} />
                  </Typography>
                ))}
              </Box>
            </Box>
          )}
          {citations && <CitationSupport sums={citations} checked={list} />}
          {error && <Failure what="The citations could not be loaded." error={error} />}
        </Stack>
      </Section>
    </Box>
  );
});

function Finding({ verdict }: { verdict: Verdict }) {
  const object = verdictObject(verdict);
  return (
    <Stack sx={{ gap: 0.5 }}>
      {object !== null && (
        <Box sx={{ display: "flex", alignItems: "center", gap: 0.5 }}>
          <Box component="strong" sx={{ fontFamily: MONO, fontSize: "0.95rem", overflowWrap: "anywhere" }}>
            {object}
          </Box>
          <CopyIcon text={() => object} label="Copy the name" />
        </Box>
      )}
      <Typography sx={{ fontSize: { xs: "1rem", sm: "1.08rem" }, lineHeight: 1.5, overflowWrap: "anywhere" }}>{verdict.mechanism}</Typography>
    </Stack>
  );
}

function VerdictFacts({ verdict, list }: { verdict: Verdict; list: CitationList | undefined }) {
  return (
    <Box component="dl" sx={{ m: 0, display: "flex", flexWrap: "wrap", columnGap: 4, rowGap: 1.25, "& > *": { maxWidth: 420 } }}>
      {verdict.since !== "" && (
        <Fact name="Since">
          <Since since={verdict.since} />
        </Fact>
      )}
      <Fact name="Still happening">
        <Badge badge={STILL_HAPPENING_BADGES[verdict.still_happening]} />
      </Fact>
      <Fact name="Confidence">{describeConfidence(verdict)}</Fact>
      {verdict.category !== "" && <Fact name="Category">{verdict.category}</Fact>}
      {verdict.evidence.length > 0 && (
        <Fact name="Based on">
          <EvidenceIds ids={verdict.evidence} list={list} />
        </Fact>
      )}
    </Box>
  );
}

// Within this time, a relative time is shown beside the date.
const RECENT_MS = 30 * 86_400_000;

/** A time, or the text that the agent wrote instead of one. */
function Since({ since }: { since: string }): ReactNode {
  const now = useMinute();
  const time = utcTime(since);
  if (time === null) return since;
  return (
    <>
      {time.text}
      {now - Date.parse(time.at) < RECENT_MS && (
        <>
          {" "}
          (<RelativeTime at={time.at} />)
        </>
      )}
    </>
  );
}

function EvidenceIds({ ids, list }: { ids: readonly string[]; list: CitationList | undefined }) {
  return (
    <Box component="span" sx={{ display: "inline-flex", flexWrap: "wrap", gap: 0.5, fontSize: "0.92rem" }}>
      {ids.map((id, index) => (
        <CitationLink key={index} cited={{ evidenceId: id, quotation: null }} checked={list ? checkedEvidence(list.citations, id) : null} />
      ))}
    </Box>
  );
}

/** The recommended actions, with the labels of their parts on lines of their own, and commands to copy. */
function DoNow({ text, checked }: { text: string; checked: CheckedCitations | null }) {
  const id = useId();
  return (
    <Box component="section" aria-labelledby={id} sx={{ borderLeft: 3, borderColor: "primary.main", pl: 2, py: 0.25, "& .action-label": { color: "text.secondary", fontWeight: 650, mr: 0.5 }, "& .action-break": { display: "block", height: 4 }, "& .code-block > :last-child": { opacity: 1 }, "& pre": { pr: 5 } }}>
      <Typography id={id} variant="h3" sx={{ mb: 0.5 }}>
        Do now
      </Typography>
      <CitedMarkdown text={text} checked={checked} marks={DO_NOW_MARKS} />
    </Box>
  );
}

const DO_NOW_MARKS: Marks = {
  spansOf: (text) => [...CITATIONS.spansOf(text), ...actionLabels(text)].toSorted((a, b) => a.start - b.start),
  Mark({ text }) {
    if (text.startsWith("[")) return <CITATIONS.Mark text={text} />;
    return (
      <>
        <span className="action-break" />
        <strong className="action-label">{text}</strong>
      </>
    );
  },
};

const CHALLENGE_BADGES = {
  upheld: { label: "Upheld by a challenge", tone: "good", icon: ShieldCheck },
  weakened: { label: "Weakened by a challenge", tone: "warning", icon: ShieldQuestionMark },
  refuted: { label: "Refuted by a challenge, then answered again", tone: "warning", icon: ShieldX },
} satisfies Record<string, BadgeStyle>;
const NO_RESULT: BadgeStyle = { label: "The challenge was inconclusive", tone: "neutral", icon: ShieldQuestionMark };

// As on the server: the last line with a result counts, and what is before the word is on its line, so that thousands of blank lines take no time.
const RESULT = /^[ \t>*`-]*result[\s*`]*:[\s*`]*(upheld|weakened|refuted)\b/gim;

/** The result of the challenge stage, in which an agent tries to refute the verdict; null if there was none. */
export function challengeResult(session: Pick<SessionDetail, "stages">, events: readonly Pick<TimelineEvent, "stage_id" | "event_type" | "content">[]): BadgeStyle | null {
  const challenge = session.stages.findLast((stage) => stage.stage_type === "challenge");
  if (!challenge) return null;
  const text = events.findLast((event) => event.stage_id === challenge.id && event.event_type === "final_analysis")?.content ?? "";
  const result = [...text.matchAll(RESULT)].at(-1)?.[1]?.toLowerCase();
  // A refutation without evidence does not start a synthesis and only weakens the verdict.
  const isAnswered = session.stages.some((stage) => stage.stage_index > challenge.stage_index && stage.stage_type === "synthesis");
  if (result === "refuted") return isAnswered ? CHALLENGE_BADGES.refuted : CHALLENGE_BADGES.weakened;
  return result === "upheld" || result === "weakened" ? CHALLENGE_BADGES[result] : NO_RESULT;
}
