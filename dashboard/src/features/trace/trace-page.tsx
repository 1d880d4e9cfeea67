/** Every call to a model or a tool: when, how long, and exactly what was said. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ArrowLeft } from "lucide-react";
import { useEffect, useMemo, useRef } from "react";
import { isMissing } from "@/api/client";
import { refetchChanged } from "@/api/refetch";
import { refreshSession, sessionDetail } from "@/api/sessions";
import { traceKey, traceList } from "@/api/trace";
import { clamped } from "@/components/text-styles";
import { formatCount, formatDuration } from "@/components/format";
import { useShortcuts } from "@/components/keyboard";
import { LinkButton } from "@/components/links";
import { Fact, Section } from "@/components/section";
import { Failure, Loading, Nothing } from "@/components/states";
import { useTitle } from "@/components/title";
import { useThrottled } from "@/components/use-throttled";
import { NotThere } from "@/components/way-on";
import { useChannel } from "@/live/connection";
import { CallDetail } from "./call-detail";
import type { Call, Waterfall } from "./waterfall";
import { waterfall } from "./waterfall";
import { WaterfallView } from "./waterfall-view";

interface TracePageProps {
  sessionId: string;
  selected: string | undefined;
  onSelect: (call: string | undefined) => void;
}

export function TracePage({ sessionId, selected, onSelect }: TracePageProps) {
  const session = useQuery(sessionDetail(sessionId));
  const trace = useQuery(traceList(sessionId));
  useLiveTrace(sessionId);
  useTitle(session.data ? `Trace: ${session.data.title}` : "Trace");
  const flow = useMemo(() => trace.data && waterfall(trace.data, session.data), [trace.data, session.data]);
  if (isMissing(trace.error)) return <NotThere what="session" />;
  return (
    <Stack spacing={2}>
      <Box sx={{ display: "flex", alignItems: "center", gap: 1.5, flexWrap: "wrap" }}>
        <LinkButton size="small" color="inherit" startIcon={<ArrowLeft size={15} />} to="/sessions/$sessionId" params={{ sessionId }}>
          Session
        </LinkButton>
        <Typography variant="h1" sx={{ ...clamped({ xs: 3, sm: 1 }), fontSize: { xs: "1.15rem", sm: "1.35rem" } }} title={session.data?.title}>
          Trace{session.data && `: ${session.data.title}`}
        </Typography>
      </Box>
      {trace.isPending && <Loading what="the trace" />}
      {trace.error && <Failure what="The trace could not be loaded." error={trace.error} onRetry={() => void trace.refetch()} />}
      {flow && flow.calls.length === 0 && <Nothing title="No calls yet">Calls to models and tools appear here when they are done.</Nothing>}
      {flow && flow.calls.length > 0 && <Calls {...{ sessionId, flow, selected, onSelect }} tokens={session.data?.usage.total_tokens} />}
    </Stack>
  );
}

function useLiveTrace(sessionId: string): void {
  const client = useQueryClient();
  // The session too: it knows the agents that make the calls.
  const refresh = useThrottled(() => void Promise.all([refetchChanged(client, traceKey(sessionId)), refreshSession(client, sessionId)]), 1_000);
  useChannel(`session:${sessionId}`, (message) => {
    if (message.type === "interaction.created" || message.type === "subscription.confirmed" || message.type === "catchup.overflow") refresh();
  });
}

function Calls({ sessionId, flow, selected, onSelect, tokens }: TracePageProps & { flow: Waterfall; tokens: number | undefined }) {
  const at = flow.calls.findIndex((call) => call.key === selected);
  const call: Call | undefined = flow.calls[at];
  const move = (by: 1 | -1) => {
    const next = flow.calls[at === -1 ? 0 : Math.min(flow.calls.length - 1, Math.max(0, at + by))];
    if (next) onSelect(next.key);
  };
  useShortcuts({ j: () => move(1), k: () => move(-1), Escape: () => onSelect(undefined) });
  const detail = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = detail.current;
    // Beside the calls it is in view anyway; on a narrow screen it stands below all of them.
    if (box && box.getBoundingClientRect().top > window.innerHeight / 2) box.scrollIntoView({ block: "start" });
  }, [call?.key]);
  return (
    <>
      <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: 4, rowGap: 1, m: 0 }}>
        <Fact name="From first to last call">{formatDuration(flow.span)}</Fact>
        <Fact name="In models">{share(flow.inModels, flow.span)}</Fact>
        <Fact name="In tools">{share(flow.inTools, flow.span)}</Fact>
        <Fact name="Calls">
          {flow.calls.length}
          {flow.failed > 0 && `, ${flow.failed} failed`}
        </Fact>
        {tokens !== undefined && <Fact name="Tokens">{formatCount(tokens)}</Fact>}
      </Box>
      <Box sx={{ display: "grid", gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: call ? "minmax(0, 5fr) minmax(0, 6fr)" : "minmax(0, 1fr)" }, gap: 2, alignItems: "start" }}>
        <Section title="Where the time went" flush>
          <WaterfallView flow={flow} selected={selected} onSelect={onSelect} />
        </Section>
        {call && (
          <Box ref={detail} sx={{ position: { lg: "sticky" }, top: 12, minHeight: { xs: "100vh", lg: 0 }, maxHeight: { lg: "calc(100vh - 24px)" }, overflow: { lg: "auto" } }}>
            <CallDetail sessionId={sessionId} call={call} onClose={() => onSelect(undefined)} />
          </Box>
        )}
      </Box>
    </>
  );
}

function share(part: number, whole: number): string {
  return `${formatDuration(part)} (${Math.round((100 * part) / whole)} %)`;
}
