/** Two sessions side by side: what each came to, by which evidence, in how many turns and at what cost, and where their analyses differ. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { ArrowLeft } from "lucide-react";
import { useMemo } from "react";
import { sessionDetail } from "@/api/sessions";
import { traceList } from "@/api/trace";
import { LinkButton, TextLink } from "@/components/links";
import { Section } from "@/components/section";
import { Failure, Loading, Nothing } from "@/components/states";
import { lineDiff } from "@/components/text-diff";
import type { DiffLine } from "@/components/text-diff";
import { RelativeTime } from "@/components/times";
import { useTitle } from "@/components/title";
import { forkedStep } from "@/presentation/fork-place";
import type { SessionDetail } from "@/wire/types";
import { ChooseOther } from "./choose-other";
import type { Figure } from "./figures";
import { figuresOf } from "./figures";

interface ComparePageProps {
  sessionId: string;
  /** The other one; undefined until it is chosen. */
  other: string | undefined;
  onOther: (sessionId: string | undefined) => void;
}

export function ComparePage({ sessionId, other, onOther }: ComparePageProps) {
  const session = useQuery(sessionDetail(sessionId));
  useTitle(session.data ? `Compare: ${session.data.title}` : "Compare");
  return (
    <Stack spacing={2}>
      <Box sx={{ display: "flex", alignItems: "center", gap: 1.5, flexWrap: "wrap" }}>
        <LinkButton size="small" color="inherit" startIcon={<ArrowLeft size={15} />} to="/sessions/$sessionId" params={{ sessionId }} search={{}}>
          Session
        </LinkButton>
        <Typography variant="h1" sx={{ overflowWrap: "anywhere" }}>
          Compare two sessions
        </Typography>
      </Box>
      {session.isPending && <Loading what="the session" />}
      {session.error && <Failure what="The session could not be loaded." error={session.error} onRetry={() => void session.refetch()} />}
      {session.data && (other === undefined ? <ChooseOther session={session.data} onOther={onOther} /> : <WithOther session={session.data} other={other} onOther={onOther} />)}
    </Stack>
  );
}

function WithOther({ session, other, onOther }: { session: SessionDetail; other: string; onOther: (sessionId: string | undefined) => void }) {
  const { data, error, refetch } = useQuery(sessionDetail(other));
  const mine = useQuery(traceList(session.id));
  const theirs = useQuery(traceList(other));
  if (error) {
    return (
      <>
        <Failure what="The other session could not be loaded." error={error} onRetry={() => void refetch()} />
        <ChooseOther session={session} onOther={onOther} />
      </>
    );
  }
  if (!data) return <Loading what="the other session" />;
  return (
    <>
      <Section title="What they came to" flush>
        <Figures sessions={[session, data]} figures={figuresOf([session, data], [mine.data, theirs.data])} />
      </Section>
      <Section title="Where their analyses differ" flush>
        <Difference before={session.final_analysis} after={data.final_analysis} />
      </Section>
    </>
  );
}

const CELL = { px: { xs: 1, sm: 2 }, py: 0.75, borderTop: 1, borderColor: "divider", textAlign: "left", verticalAlign: "top", overflowWrap: "anywhere", fontWeight: 400 } as const;

function Figures({ sessions, figures }: { sessions: readonly [SessionDetail, SessionDetail]; figures: readonly Figure[] }) {
  return (
    <Box component="table" sx={{ width: "100%", borderCollapse: "collapse", tableLayout: "fixed", fontSize: "0.875rem", "& th:first-of-type": { width: { xs: 100, sm: 130 }, overflowWrap: "normal" } }}>
      <thead>
        <tr>
          <Box component="th" scope="col" sx={{ ...CELL, border: 0, color: "text.secondary" }}>
            {" "}
          </Box>
          {sessions.map((session, place) => (
            <Box key={place} component="th" scope="col" sx={{ ...CELL, border: 0 }}>
              <TextLink to="/sessions/$sessionId" params={{ sessionId: session.id }} search={{}} sx={{ fontWeight: 600 }}>
                {session.title}
              </TextLink>
              <Typography variant="caption" color="textSecondary" component="div">
                <RelativeTime at={session.created_at} /> by {session.author}
                {session.fork && `, forked from ${forkedStep(session.fork)}`}
              </Typography>
            </Box>
          ))}
        </tr>
      </thead>
      <tbody>
        {figures.map(({ name, values }) => (
          <tr key={name}>
            <Box component="th" scope="row" sx={{ ...CELL, color: "text.secondary" }}>
              {name}
            </Box>
            {values.map((value, place) => (
              <Box key={place} component="td" sx={{ ...CELL, ...(values[0] === values[1] ? { color: "text.secondary" } : {}) }}>
                {value}
              </Box>
            ))}
          </tr>
        ))}
      </tbody>
    </Box>
  );
}

const LINES = {
  same: { sign: " ", spoken: "", sx: {} },
  removed: { sign: "−", spoken: "only in the first: ", sx: { color: "error.main", bgcolor: "code.inline" } },
  added: { sign: "+", spoken: "only in the second: ", sx: { color: "success.main", bgcolor: "code.inline" } },
} satisfies Record<DiffLine["kind"], object>;

function Difference({ before, after }: { before: string | null; after: string | null }) {
  const lines = useMemo(() => lineDiff(before ?? "", after ?? ""), [before, after]);
  if (before === null && after === null) return <Nothing title="Neither came to an analysis" />;
  if (before === after) return <Nothing title="Their analyses are the same, word for word" />;
  return (
    <Box role="region" aria-label="Difference" tabIndex={0} sx={{ py: 1, fontSize: "0.85rem", lineHeight: 1.6, maxHeight: "80vh", overflowY: "auto" }}>
      {lines.map(({ kind, text }, index) => (
        <Box key={index} sx={{ display: "grid", gridTemplateColumns: "20px minmax(0, 1fr)", px: 2, whiteSpace: "pre-wrap", overflowWrap: "anywhere", minHeight: "1.6em", ...LINES[kind].sx }}>
          <Box component="span" role="img" aria-label={LINES[kind].spoken} aria-hidden={kind === "same"}>
            {LINES[kind].sign}
          </Box>
          <span>{text}</span>
        </Box>
      ))}
    </Box>
  );
}
