/** Compares two sessions: their figures, and a diff of their analyses. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { diffArrays } from "diff";
import { ArrowLeft } from "lucide-react";
import { useMemo } from "react";
import { sessionDetail } from "@/api/sessions";
import { traceList } from "@/api/trace";
import { formatCost, formatCount, formatDuration } from "@/components/format";
import { LinkButton, TextLink } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { plainText } from "@/components/plain-text";
import { Section } from "@/components/section";
import { Failure, Loaded, Nothing } from "@/components/states";
import { clamped } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import { describeForkPoint } from "@/presentation/forks";
import { statusLabel } from "@/presentation/session-status";
import { citationSummary, CONFIDENCE_BADGES, verdictObject } from "@/presentation/verdict";
import type { SessionDetail, TraceList } from "@/wire/types";
import { ChooseOther } from "./choose-other";

const route = getRouteApi("/sessions/$sessionId/compare");

export function ComparePage() {
  const { sessionId } = route.useParams();
  const { with: other } = route.useSearch();
  const navigate = route.useNavigate();
  const session = useQuery(sessionDetail(sessionId));
  usePageTitle(session.data ? `Compare: ${session.data.title}` : "Compare");
  const onOther = (id: string) => void navigate({ search: { with: id } });
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
      <Loaded query={session} what="the session" failure="The session could not be loaded.">
        {(data) => (other === undefined ? <ChooseOther session={data} onOther={onOther} /> : <Comparison session={data} other={other} onOther={onOther} />)}
      </Loaded>
    </Stack>
  );
}

function Comparison({ session, other, onOther }: { session: SessionDetail; other: string; onOther: (sessionId: string) => void }) {
  const query = useQuery(sessionDetail(other));
  const trace = useQuery(traceList(session.id));
  const otherTrace = useQuery(traceList(other));
  const failedTrace = [trace, otherTrace].find((one) => one.error !== null);
  return (
    <>
      <Loaded query={query} what="the other session" failure="The other session could not be loaded.">
        {(data) => (
          <>
            {failedTrace && <Failure what="Turns and tool calls could not be counted." error={failedTrace.error} onRetry={() => void failedTrace.refetch()} />}
            <Section title="Results" flush>
              <Figures sessions={[session, data]} figures={figuresOf([session, data], [trace.data, otherTrace.data])} />
            </Section>
            <Section title="Where their analyses differ" flush>
              <Difference before={session.final_analysis} after={data.final_analysis} />
            </Section>
          </>
        )}
      </Loaded>
      {query.isLoadingError && <ChooseOther session={session} onOther={onOther} />}
    </>
  );
}

interface Figure {
  name: string;
  values: readonly [string, string];
}

/** The figures of both sessions, the most important first. */
export function figuresOf(sessions: readonly [SessionDetail, SessionDetail], traces: readonly [TraceList | undefined, TraceList | undefined]): Figure[] {
  const figure = (name: string, value: (session: SessionDetail, trace: TraceList | undefined) => string): Figure => ({ name, values: [value(sessions[0], traces[0]), value(sessions[1], traces[1])] });
  return [
    figure("Verdict", statusLabel),
    figure("Object", ({ verdict }) => (verdict && verdictObject(verdict)) ?? "not named"),
    figure("Mechanism", ({ verdict }) => verdict?.mechanism ?? ""),
    figure("Confidence", ({ verdict }) => (verdict ? CONFIDENCE_BADGES[verdict.confidence].label : "")),
    figure("Evidence", ({ citations }) => (citations ? citationSummary(citations) : "not checked")),
    figure("Models", ({ stages, recorded }) => {
      const names = [...new Set(stages.flatMap((stage) => stage.executions.map((execution) => execution.model_name)))].join(", ");
      return recorded ? `${names} (recorded)` : names;
    }),
    // A summary of a tool result is not a turn, nor is a judgement of quotations.
    figure("Turns", (_, trace) => (trace ? String(trace.llm.filter(({ kind }) => kind !== "summarization" && kind !== "support").length) : "…")),
    figure("Tool calls", (_, trace) => (trace ? String(trace.mcp.filter((call) => call.kind === "tool_call").length) : "…")),
    figure("Tokens", ({ usage }) => formatCount(usage.total_tokens)),
    figure("Cost", ({ cost }) => formatCost(cost) ?? "nothing"),
    figure("Duration", ({ duration_ms: ms }) => (ms === null ? "" : formatDuration(ms))),
  ];
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
          {sessions.map((session, index) => (
            <Box key={index} component="th" scope="col" sx={{ ...CELL, border: 0 }}>
              <TextLink to="/sessions/$sessionId" params={{ sessionId: session.id }} search={{}} title={session.title} sx={{ ...clamped({ xs: 4, sm: 2 }), fontWeight: 600 }}>
                {session.title}
              </TextLink>
              <Typography variant="caption" color="textSecondary" component="div">
                <RelativeTime at={session.created_at} /> by {session.author}
                {session.fork && `, forked from ${describeForkPoint(session.fork)}`}
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
            {values.map((value, index) => (
              <Box key={index} component="td" sx={{ ...CELL, ...(values[0] === values[1] ? { color: "text.secondary" } : {}) }}>
                {value}
              </Box>
            ))}
          </tr>
        ))}
      </tbody>
    </Box>
  );
}

interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

// The time to compare grows with the square of this. Texts with more different lines are shown as replaced as a whole.
const MOST_DIFFERENT_LINES = 2_000;

export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  const changes = diffArrays(a, b, { maxEditLength: MOST_DIFFERENT_LINES }) ?? [
    { value: a, removed: true, added: false },
    { value: b, removed: false, added: true },
  ];
  return changes.flatMap(({ value, removed, added }) => value.map((text): DiffLine => ({ kind: removed ? "removed" : added ? "added" : "same", text })));
}

const DIFF_STYLES = {
  same: { sign: " ", label: "", sx: {} },
  removed: { sign: "−", label: "only in the first: ", sx: { color: "error.main", bgcolor: "code.inline" } },
  added: { sign: "+", label: "only in the second: ", sx: { color: "success.main", bgcolor: "code.inline" } },
} satisfies Record<DiffLine["kind"], object>;

const HEADING = /^#{1,6} /;

function Difference({ before, after }: { before: string | null; after: string | null }) {
  const lines = useMemo(() => diffLines(before ?? "", after ?? ""), [before, after]);
  if (before === null && after === null) return <Nothing title="Neither session has an analysis" />;
  if (before === after) return <Nothing title="Their analyses are the same, word for word" />;
  return (
    <Box role="region" aria-label="Difference" tabIndex={0} sx={{ py: 1, fontSize: "0.85rem", lineHeight: 1.6, maxHeight: "80vh", overflowY: "auto" }}>
      {lines.map(({ kind, text }, index) => (
        <Box key={index} sx={{ display: "grid", gridTemplateColumns: "20px minmax(0, 1fr)", px: 2, whiteSpace: "pre-wrap", overflowWrap: "anywhere", minHeight: "1.6em", ...DIFF_STYLES[kind].sx }}>
          <Box component="span" role="img" aria-label={DIFF_STYLES[kind].label} aria-hidden={kind === "same"}>
            {DIFF_STYLES[kind].sign}
          </Box>
          <Box component="span" sx={HEADING.test(text) ? { fontWeight: 650 } : {}}>
            {plainText(text)}
          </Box>
        </Box>
      ))}
    </Box>
  );
}
