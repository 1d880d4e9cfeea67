/** Every call to a model or a tool: when, how long, and exactly what was said. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Drawer from "@mui/material/Drawer";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import useMediaQuery from "@mui/material/useMediaQuery";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { ArrowLeft } from "lucide-react";
import { useMemo, useRef } from "react";
import { isMissing } from "@/api/client";
import { refetchChanged } from "@/api/refetch";
import { refreshSession, sessionDetail } from "@/api/sessions";
import { traceKey, traceList } from "@/api/trace";
import { clamped } from "@/components/text-styles";
import { SearchBox } from "@/components/filter-fields";
import { formatCost, formatCount, formatDuration, plural } from "@/components/format";
import { useShortcuts } from "@/components/keyboard";
import { LinkButton } from "@/components/links";
import { Fact, Section } from "@/components/section";
import { Failure, Loading, Nothing } from "@/components/states";
import { useTitle } from "@/components/title";
import { useThrottled } from "@/components/use-throttled";
import { NotThere } from "@/components/way-on";
import { useChannel } from "@/live/connection";
import type { SessionDetail } from "@/wire/types";
import { wholeOf, zoomed } from "./axis";
import { Legend, ZoomButtons } from "./axis-bar";
import type { ForkSlot } from "./call-detail";
import { CallDetail } from "./call-detail";
import { LanesView } from "./lanes-view";
import { useLanes } from "./use-lanes";
import type { Waterfall } from "./waterfall";
import { waterfall } from "./waterfall";

interface TracePageProps {
  sessionId: string;
  selected: string | undefined;
  onSelect: (call: string | undefined) => void;
  /** The place to fork the investigation at a call. */
  fork: ForkSlot;
}

export function TracePage({ sessionId, selected, onSelect, fork }: TracePageProps) {
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
      {flow && flow.calls.length > 0 && <Calls {...{ sessionId, flow, selected, onSelect, fork }} session={session.data} />}
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

interface CallsProps extends TracePageProps {
  flow: Waterfall;
  session: SessionDetail | undefined;
}

function Calls({ sessionId, flow, session, selected, onSelect, fork }: CallsProps) {
  const view = useLanes(flow, session, selected, onSelect);
  const { rows, shown, seen, lanes, at } = view;
  const box = useRef<HTMLInputElement>(null);
  const close = () => onSelect(undefined);
  useShortcuts({
    j: () => view.move(1),
    k: () => view.move(-1),
    "/": () => box.current?.focus(),
    "+": () => view.onWindow(zoomed(seen, 0.5, flow.span)),
    "-": () => view.onWindow(zoomed(seen, 2, flow.span)),
    "0": () => view.onWindow(wholeOf(flow.span)),
    Escape: close,
  });
  const wide = useMediaQuery((theme) => theme.breakpoints.up("lg"));
  const call = flow.calls.find((one) => one.key === selected);
  const detail = call && <CallDetail {...{ sessionId, call, fork }} place={at === -1 ? null : { number: at + 1, of: shown.length }} onPrevious={at > 0 ? () => view.move(-1) : undefined} onNext={at < shown.length - 1 ? () => view.move(1) : undefined} onClose={close} />;
  const actions = (
    <>
      {lanes.length > 1 && (
        <Button size="small" color="inherit" onClick={view.foldAll}>
          {view.allFolded ? "Unfold all lanes" : "Fold all lanes"}
        </Button>
      )}
      <ZoomButtons window={seen} span={flow.span} onWindow={view.onWindow} />
    </>
  );
  return (
    <>
      <Sums flow={flow} session={session} />
      <Box sx={{ display: "grid", gridTemplateColumns: call && wide ? "minmax(0, 6fr) minmax(0, 5fr)" : "minmax(0, 1fr)", gap: 2, alignItems: "start" }}>
        <Section title="Where the time went" flush actions={actions}>
          <Box sx={{ display: "flex", flexWrap: "wrap", alignItems: "center", columnGap: 2, rowGap: 1, px: 1.5, py: 1 }}>
            <SearchBox label="Search calls" text={view.words} onText={view.setWords} pauseMs={0} box={box} />
            <Typography variant="caption" color="textSecondary" role="status">
              {shown.length === flow.calls.length ? plural(shown.length, "call") : `${shown.length} of ${plural(flow.calls.length, "call")}`}
            </Typography>
            <Legend only={view.only} onOnly={view.setOnly} />
          </Box>
          {rows.length === 0 ? <Nothing title="No such call">Search for a tool, what it was called with, an agent, or why it failed.</Nothing> : <LanesView {...{ rows, selected }} window={seen} span={flow.span} onWindow={view.onWindow} onSelect={view.select} onToggle={view.toggle} />}
        </Section>
        {call && wide && <Box sx={{ position: "sticky", top: 12, maxHeight: "calc(100vh - 24px)", overflow: "auto" }}>{detail}</Box>}
      </Box>
      {call && !wide && (
        <Drawer open anchor="bottom" onClose={close} slotProps={{ paper: { "aria-label": call.label, role: "dialog", sx: { height: "85dvh", borderTopLeftRadius: 12, borderTopRightRadius: 12 } } }}>
          {detail}
        </Drawer>
      )}
    </>
  );
}

function Sums({ flow, session }: { flow: Waterfall; session: SessionDetail | undefined }) {
  const cost = session && formatCost(session.cost);
  return (
    <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: 4, rowGap: 1, m: 0 }}>
      <Fact name="From first to last call">{formatDuration(flow.span)}</Fact>
      <Fact name="In models">{share(flow.inModels, flow.span)}</Fact>
      <Fact name="In tools">{share(flow.inTools, flow.span)}</Fact>
      <Fact name="Calls">
        {flow.calls.length}
        {flow.failed > 0 && `, ${flow.failed} failed`}
      </Fact>
      {session && <Fact name="Tokens">{formatCount(session.usage.total_tokens)}</Fact>}
      {session && session.usage.input_tokens > 0 && <Fact name="From the vendor's cache">{Math.round((100 * session.usage.cached_tokens) / session.usage.input_tokens)} % of the input</Fact>}
      {cost && <Fact name="Cost">{cost}</Fact>}
    </Box>
  );
}

function share(part: number, whole: number): string {
  return `${formatDuration(part)} (${Math.round((100 * part) / whole)} %)`;
}
