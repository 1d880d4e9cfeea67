/** One investigation: its result, its way there, and its alert. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import useMediaQuery from "@mui/material/useMediaQuery";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useCallback, useMemo, useState } from "react";
import { chatMessages } from "@/api/chat";
import { isMissing } from "@/api/client";
import { cancelExecution, cancelSession, refreshSession } from "@/api/sessions";
import { copyText } from "@/components/clipboard";
import { Section } from "@/components/section";
import { Failure, Loading } from "@/components/states";
import { RelativeTime } from "@/components/times";
import { useTitle } from "@/components/title";
import { NotThere } from "@/components/way-on";
import type { EvidenceAddress } from "@/presentation/evidence-door";
import { EvidenceDoorContext } from "@/presentation/evidence-door";
import type { ForkAsk } from "@/presentation/fork-door";
import { ForkDoorContext } from "@/presentation/fork-door";
import { FoundWordsContext } from "@/presentation/found-words";
import { RecordedBanner } from "@/presentation/recorded";
import { RESTING_FACES, RunFacesContext } from "@/presentation/run-faces";
import { hasEnded, reasonOf, RUN_FACES, SESSION_FACES } from "@/presentation/statuses";
import { eventById } from "@/live/timeline-buffer";
import type { SessionDetail, TimelineEvent } from "@/wire/types";
import { AlertPanel } from "./alert-panel";
import { Analysis } from "./analysis";
import { BesideColumn, ChatAside, ChatSheet } from "./chat-place";
import { contentsOf } from "./contents";
import { Contents } from "./contents-view";
import { EvidenceAside, EvidenceSheet } from "./evidence-panel";
import { FindBar, useFinding } from "./find-bar";
import { Header } from "./header";
import { secondLook } from "./second-look";
import { stageGraph } from "./stage-graph";
import { StageGraphView } from "./stage-graph-view";
import type { StageTarget } from "./timeline";
import { Timeline } from "./timeline";
import { ShowAnalysis, useArrival } from "./arrival";
import { useCheckedAnalysis } from "./use-checked-analysis";
import { useForkDoor } from "./use-fork-door";
import { resultOf, useEvidenceDoor, useKnownCitations } from "./use-evidence";
import { useLiveSession } from "./use-live-session";
import { VerdictCard } from "./verdict-card";

interface SessionPageProps {
  sessionId: string;
  /** The evidence of a deep link, or null when none is open. */
  evidence: EvidenceAddress | null;
  onEvidence: (address: EvidenceAddress | null) => void;
  evidenceHref: (address: EvidenceAddress) => string;
  /** The event of a deep link. */
  target: string | undefined;
  onLink: (eventId: string) => void;
  /** Go to an event of the timeline. */
  onEvent: (eventId: string) => void;
  /** Questions and answers about the session, fed by the same events. */
  chat: (session: SessionDetail, events: readonly TimelineEvent[]) => ReactNode;
  /** What its agents were told while they worked, and the place to tell them more. */
  hint: (session: SessionDetail) => ReactNode;
  /** Begin a fork, and the place where it is asked for. */
  onFork: (ask: ForkAsk) => void;
  fork: (session: SessionDetail) => ReactNode;
}

export function SessionPage({ sessionId, ...rest }: SessionPageProps) {
  const { session, feed } = useLiveSession(sessionId);
  useTitle(session.data ? `${SESSION_FACES[session.data.status].label}: ${session.data.title}` : "Session");
  if (session.isPending) return <Loading what="the session" />;
  if (!session.data && isMissing(session.error)) return <NotThere what="session" />;
  if (!session.data) return <Failure what="The session could not be loaded." error={session.error} onRetry={() => void session.refetch()} />;
  return <Loaded session={session.data} feed={feed} {...rest} />;
}

interface LoadedProps extends Omit<SessionPageProps, "sessionId"> {
  session: SessionDetail;
  feed: ReturnType<typeof useLiveSession>["feed"];
}

function Loaded({ session, feed, target, evidence, onLink, onEvent, onEvidence, evidenceHref, chat, hint, onFork, fork }: LoadedProps) {
  const client = useQueryClient();
  const refresh = () => refreshSession(client, session.id);
  const cancel = useMutation({ mutationFn: () => cancelSession(session.id), onSettled: refresh });
  const cancelAgent = useMutation({ mutationFn: (executionId: string) => cancelExecution(session.id, executionId), onSettled: refresh });
  const [stageTarget, setStageTarget] = useState<StageTarget | null>(null);
  const ended = hasEnded(session.status);
  const reason = reasonOf(session);
  const arrival = useArrival(ended && session.final_analysis !== null);

  const { buffer } = feed;
  const chatStages = useMemo(() => new Set(session.stages.filter((stage) => stage.stage_type === "chat").map((stage) => stage.id)), [session.stages]);
  const stages = useMemo(() => session.stages.filter((stage) => !chatStages.has(stage.id)), [session.stages, chatStages]);
  const shown = useMemo(() => buffer.shape.filter((event) => event.stage_id === null || !chatStages.has(event.stage_id)), [buffer.shape, chatStages]);
  const now = (event: TimelineEvent) => eventById(buffer, event.id) ?? event;
  const nodes = useMemo(() => stageGraph(session), [session]);
  const showStage = useCallback((id: string) => setStageTarget({ id }), []);
  const showAgent = useCallback((id: string, agent: string) => setStageTarget({ id, agent }), []);
  const { final_analysis: analysis, executive_summary: summary } = session;
  const { list, checked, doNow, text } = useCheckedAnalysis(session, ended);
  const door = useEvidenceDoor(session, shown, evidenceHref, onEvidence);
  const forkDoor = useForkDoor(session, onFork);
  const finding = useFinding(stages, shown);
  const challenged = useMemo(() => secondLook(session, shown), [session, shown]);
  const wide = useMediaQuery((theme) => theme.breakpoints.up("md"));
  const roomy = useMediaQuery((theme) => theme.breakpoints.up("xl")) && evidence === null;
  const beside = useMediaQuery((theme) => theme.breakpoints.up("lg"));
  const asks = ended && session.chat_enabled;
  const wasAsked = (useQuery({ ...chatMessages(session.id), enabled: asks }).data?.messages.length ?? 0) > 0;
  const known = useKnownCitations(session.id);
  const panel = (address: EvidenceAddress) => {
    const event = resultOf(shown, address.evidence);
    return {
      sessionId: session.id,
      address,
      citations: known,
      onAddress: onEvidence,
      onClose: () => onEvidence(null),
      onCopyLink: () => void copyText(new URL(evidenceHref(address), window.location.href).href),
      onTimeline: event && (() => onEvent(event.id)),
    };
  };
  const faces = session.waiting_reason === null ? RUN_FACES : RESTING_FACES;
  const repeated = useMemo(() => new Set(ended ? [analysis, summary].filter((text) => text !== null) : []), [ended, analysis, summary]);
  return (
    <Stack spacing={2}>
      <Header session={session} onCancel={cancel.mutate} />
      {session.recorded && <RecordedBanner />}
      {(cancel.error ?? cancelAgent.error) && <Failure what="It could not be cancelled." error={cancel.error ?? cancelAgent.error} />}
      {reason && (
        <Alert severity={session.status === "failed" ? "error" : "warning"} variant="outlined" sx={{ overflowWrap: "anywhere" }}>
          {reason}
        </Alert>
      )}
      {session.waiting_reason && (
        <Alert severity="info" variant="outlined" role="status" sx={{ overflowWrap: "anywhere" }}>
          {waitingLine(session.waiting_reason)}
          {session.waiting_until && (
            <>
              {" It is looked at again "}
              <RelativeTime at={session.waiting_until} />.
            </>
          )}
        </Alert>
      )}
      <RunFacesContext value={faces}>
        <StageGraphView nodes={nodes} ended={ended} onStage={showStage} onAgent={showAgent} />
      </RunFacesContext>
      <EvidenceDoorContext value={door}>
        <Box sx={{ display: "grid", gridTemplateColumns: evidence && wide ? BESIDE_EVIDENCE : roomy ? BESIDE_CONTENTS : BESIDE_ALERT, gap: 2, alignItems: "start" }}>
          {roomy && <Contents contents={contentsOf(sectionsOf(session, ended, text), [summary, text].filter(Boolean).join("\n\n"), stages)} onStage={showStage} />}
          <Stack spacing={2} sx={{ minWidth: 0 }}>
            {ended && <VerdictCard {...{ session, doNow, list, checked, challenged }} />}
            {ended && <Analysis {...{ session, text, checked }} />}
            <Section title="Timeline" flush actions={<FindBar {...finding} />}>
              <FoundWordsContext value={finding.event === undefined ? "" : finding.words}>
                <ForkDoorContext value={forkDoor}>
                  <RunFacesContext value={faces}>
                    <TimelineBody {...{ feed, stages, ended, now, stageTarget, repeated, onLink }} target={finding.event ?? target} events={shown} onCancelAgent={cancelAgent.mutate} onFollowing={arrival.onFollowing} />
                  </RunFacesContext>
                </ForkDoorContext>
              </FoundWordsContext>
            </Section>
            {ended && hint(session)}
          </Stack>
          <Box sx={{ position: { lg: "sticky", ...(evidence && wide ? { md: "sticky" } : {}) }, top: 64, order: { xs: ended ? 1 : -1, lg: 0, ...(evidence && wide ? { md: 0 } : {}) }, minWidth: 0 }}>
            {evidence && wide && <EvidenceAside {...panel(evidence)} />}
            {/* Kept while a result stands in their place: a question half written must not be lost. */}
            <Box sx={evidence && wide ? { display: "none" } : {}}>
              {asks && beside ? (
                <BesideColumn>
                  <AlertPanel session={session} brief aside={wasAsked} />
                  <ChatAside>{chat(session, buffer.events)}</ChatAside>
                </BesideColumn>
              ) : (
                <Stack spacing={2}>
                  <AlertPanel session={session} />
                  {!ended && hint(session)}
                </Stack>
              )}
            </Box>
          </Box>
        </Box>
        {asks && !beside && <ChatSheet aside={evidence !== null}>{chat(session, buffer.events)}</ChatSheet>}
        {arrival.unseen && <ShowAnalysis onShow={arrival.show} />}
        {evidence && !wide && <EvidenceSheet {...panel(evidence)} />}
        {fork(session)}
      </EvidenceDoorContext>
    </Stack>
  );
}

/** A reason may be a sentence of its own. */
function waitingLine(reason: string): string {
  return reason.startsWith("Waiting ") ? reason : `Waiting: ${reason}`;
}

// A result is read, an alert is looked up: the one gets as much room as the text, the other a column.
const BESIDE_EVIDENCE = "minmax(0, 1fr) minmax(0, 46%)";
const BESIDE_CONTENTS = "170px minmax(0, 1fr) 420px";
const BESIDE_ALERT = { xs: "minmax(0, 1fr)", lg: "minmax(0, 1fr) 420px" };

/** The titled parts of the page that are there. */
function sectionsOf({ verdict, citations, executive_summary: summary }: SessionDetail, ended: boolean, text: string | null): string[] {
  const parts: [string, boolean][] = [
    ["Verdict", ended && (verdict !== null || citations !== null)],
    ["Analysis", ended && Boolean(summary ?? text)],
    ["Timeline", true],
  ];
  return parts.filter(([, isThere]) => isThere).map(([title]) => title);
}

interface TimelineBodyProps {
  feed: LoadedProps["feed"];
  stages: SessionDetail["stages"];
  events: readonly TimelineEvent[];
  now: (event: TimelineEvent) => TimelineEvent;
  ended: boolean;
  target: string | undefined;
  stageTarget: StageTarget | null;
  repeated: ReadonlySet<string>;
  onLink: (eventId: string) => void;
  onCancelAgent: (executionId: string) => void;
  onFollowing: (following: boolean) => void;
}

function TimelineBody({ feed, ended, ...rest }: TimelineBodyProps) {
  if (feed.phase === "loading") return <Loading what="the timeline" />;
  if (feed.phase === "failed") return <Failure what="The timeline could not be loaded; trying again." error={feed.error} />;
  return <Timeline {...rest} growing={!ended} />;
}

