/** The trace of a session: every model and tool call, its time and its content. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import useMediaQuery from "@mui/material/useMediaQuery";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import { useCallback, useMemo, useRef } from "react";
import { isNotFound } from "@/api/client";
import { sessionDetail, sessionKeys } from "@/api/sessions";
import { traceKey, traceList } from "@/api/trace";
import { BottomDrawer } from "@/components/bottom-drawer";
import { SearchBox } from "@/components/fields";
import { formatCost, formatCount, formatDuration, plural } from "@/components/format";
import { useShortcuts } from "@/components/shortcuts";
import { LinkButton } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { Fact, Section } from "@/components/section";
import { Failure, Loading, Nothing, NotFound } from "@/components/states";
import { clamped } from "@/components/text-styles";
import { useLiveRefetch } from "@/presentation/live-refetch";
import type { LiveMessage } from "@/wire/live-messages";
import type { SessionDetail } from "@/wire/types";
import { Legend, wholeWindow, ZoomButtons, zoomWindow } from "./axis";
import { CallDetail } from "./call-detail";
import { useLanes } from "./lanes";
import { LanesView } from "./lanes-view";
import type { Waterfall } from "./waterfall";
import { waterfall } from "./waterfall";

const route = getRouteApi("/sessions/$sessionId/trace");

export function TracePage() {
  const { sessionId } = route.useParams();
  const session = useQuery(sessionDetail(sessionId));
  const trace = useQuery(traceList(sessionId));
  // The session too: it has the agents that make the calls.
  useLiveRefetch(`session:${sessionId}`, changesTrace, [traceKey(sessionId), sessionKeys.detail(sessionId)]);
  usePageTitle(session.data ? `Trace: ${session.data.title}` : "Trace");
  const flow = useMemo(() => trace.data && waterfall(trace.data, session.data), [trace.data, session.data]);
  if (isNotFound(trace.error)) return <NotFound what="session" />;
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
      {flow && flow.calls.length > 0 && <Calls sessionId={sessionId} flow={flow} session={session.data} />}
    </Stack>
  );
}

/** Whether the trace and its session have to be refetched after a message. A session that has ended can be forked. */
export function changesTrace({ type }: LiveMessage): boolean {
  return type === "interaction.created" || type === "session.completed";
}

function Calls({ sessionId, flow, session }: { sessionId: string; flow: Waterfall; session: SessionDetail | undefined }) {
  const { call: selected } = route.useSearch();
  const navigate = route.useNavigate();
  const onSelect = useCallback((next: string | undefined) => void navigate({ search: next === undefined ? {} : { call: next }, replace: true, resetScroll: false }), [navigate]);
  const view = useLanes(flow, session, selected, onSelect);
  const { rows, shown, window: visible, lanes, at } = view;
  const box = useRef<HTMLInputElement>(null);
  const close = () => onSelect(undefined);
  useShortcuts({
    j: () => view.move(1),
    k: () => view.move(-1),
    "/": () => box.current?.focus(),
    "+": () => view.onWindow(zoomWindow(visible, 0.5, flow.span)),
    "-": () => view.onWindow(zoomWindow(visible, 2, flow.span)),
    "0": () => view.onWindow(wholeWindow(flow.span)),
    Escape: close,
  });
  const wide = useMediaQuery((theme) => theme.breakpoints.up("lg"));
  const call = flow.calls.find(({ key }) => key === selected);
  const detail = call && <CallDetail {...{ sessionId, call }} position={at === -1 ? null : { number: at + 1, of: shown.length }} onPrevious={at > 0 ? () => view.move(-1) : undefined} onNext={at < shown.length - 1 ? () => view.move(1) : undefined} onClose={close} />;
  const actions = (
    <>
      {lanes.length > 1 && (
        <Button size="small" color="inherit" onClick={view.foldAll}>
          {view.allFolded ? "Unfold all lanes" : "Fold all lanes"}
        </Button>
      )}
      <ZoomButtons window={visible} span={flow.span} onWindow={view.onWindow} />
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
          {rows.length === 0 ? <Nothing title="No such call">Search for a tool, what it was called with, an agent, or why it failed.</Nothing> : <LanesView {...{ rows, selected }} window={visible} span={flow.span} onWindow={view.onWindow} onSelect={view.select} onToggle={view.toggle} />}
        </Section>
        {call && wide && <Box sx={{ position: "sticky", top: 12, maxHeight: "calc(100vh - 24px)", overflow: "auto" }}>{detail}</Box>}
      </Box>
      {call && !wide && (
        <BottomDrawer open label={call.label} onClose={close}>
          {detail}
        </BottomDrawer>
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
