/** The page of a session: verdict, analysis, timeline and alert, with follow-up questions and hints. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import useMediaQuery from "@mui/material/useMediaQuery";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { isNotFound } from "@/api/client";
import { refetchChanged } from "@/api/refetch";
import { cancelExecution, cancelSession, chatMessages, models, sessionDetail, sessionKeys } from "@/api/sessions";
import { SESSION_HEADER_PX, usePageTitle } from "@/components/page";
import { Section } from "@/components/section";
import { Failure, Loading, NotFound } from "@/components/states";
import { RelativeTime } from "@/components/times";
import { eventById } from "@/live/timeline-buffer";
import { ApprovalCard, ApprovalsContext, useSessionApprovals } from "@/presentation/approval-card";
import { useCheckedAnalysis } from "@/presentation/checked-analysis";
import type { EvidenceLinks, EvidenceTarget } from "@/presentation/evidence";
import { EvidenceLinksContext } from "@/presentation/evidence";
import { useDenial } from "@/presentation/allowed";
import { ForkDialog } from "@/presentation/fork-dialog";
import type { ForkActions, ForkPoint } from "@/presentation/forks";
import { ForkActionsContext, forkRefusal } from "@/presentation/forks";
import { RecordedBanner } from "@/presentation/recorded";
import { statusLabel } from "@/presentation/session-status";
import { hasEnded, RUN_BADGES, RunBadgesContext, sessionReason, WAITING_RUN_BADGES } from "@/presentation/statuses";
import { evidenceIdOf } from "@/presentation/timeline-rows";
import { FindTextContext } from "@/presentation/tool-entry";
import { challengeResult, VerdictCard } from "@/presentation/verdict-card";
import type { SessionDetail, TimelineEvent } from "@/wire/types";
import { ActionsPanel } from "./actions-panel";
import { AlertPanel } from "./alert-panel";
import { Analysis } from "./analysis";
import { ChatPanel } from "./chat-panel";
import { ChatDrawer, ChatSidePanel, WindowHeightColumn } from "./chat-layout";
import { Contents, contentsOf } from "./contents";
import { EvidenceDrawer, evidenceEvent, EvidenceSidePanel, useLoadedCitations } from "./evidence-panel";
import { FindBar, useFinding } from "./find-bar";
import { ShowAnalysisButton, useArrival } from "./follow-end";
import { Facts, Header } from "./header";
import { HintPanel } from "./hint-panel";
import { ReviewPanel } from "./review-panel";
import { useLiveSession } from "./live-session";
import { StageGraph, stageGraph } from "./stage-graph";
import type { StageTarget } from "./timeline";
import { Timeline } from "./timeline";

const route = getRouteApi("/sessions/$sessionId");

export function SessionPage() {
  const { sessionId } = route.useParams();
  const { data, error } = useQuery(sessionDetail(sessionId));
  // Without the feed, which would request the timeline of no session again and again.
  return !data && isNotFound(error) ? <NotFound what="session" /> : <LiveSession sessionId={sessionId} />;
}

function LiveSession({ sessionId }: { sessionId: string }) {
  const { session, feed } = useLiveSession(sessionId);
  usePageTitle(session.data ? `${statusLabel(session.data)}: ${session.data.title}` : "Session");
  if (session.isPending) return <Loading what="the session" />;
  if (!session.data) return <Failure what="The session could not be loaded." error={session.error} onRetry={() => void session.refetch()} />;
  return <LoadedSession session={session.data} feed={feed} />;
}

// Evidence gets as much room as the text, the alert a column.
const WITH_EVIDENCE = "minmax(0, 1fr) minmax(0, 46%)";
const WITH_CONTENTS = "170px minmax(0, 1fr) 420px";
const WITH_ALERT = { xs: "minmax(0, 1fr)", lg: "minmax(0, 1fr) 420px" };

function LoadedSession({ session, feed }: { session: SessionDetail; feed: ReturnType<typeof useLiveSession>["feed"] }) {
  const client = useQueryClient();
  const { event: linkedEvent, evidence, onLink, onEvent, onEvidence, evidenceHref } = useSessionLinks(session.id);
  const refetch = () => refetchChanged(client, sessionKeys.detail(session.id));
  const cancel = useMutation({ mutationFn: () => cancelSession(session.id), onSettled: refetch });
  const cancelAgent = useMutation({ mutationFn: (executionId: string) => cancelExecution(session.id, executionId), onSettled: refetch });
  const [stageTarget, setStageTarget] = useState<StageTarget | null>(null);
  const [forkPoint, setForkPoint] = useState<ForkPoint | null>(null);
  const ended = hasEnded(session.status);
  const reason = sessionReason(session);
  // The analysis is there before the executive summary.
  const concluded = ended || session.final_analysis !== null;
  const arrival = useArrival(session.final_analysis !== null);

  const { buffer } = feed;
  const chatStages = useMemo(() => new Set(session.stages.filter((stage) => stage.stage_type === "chat").map((stage) => stage.id)), [session.stages]);
  const stages = useMemo(() => session.stages.filter((stage) => !chatStages.has(stage.id)), [session.stages, chatStages]);
  const events = useMemo(() => buffer.shape.filter((event) => event.stage_id === null || !chatStages.has(event.stage_id)), [buffer.shape, chatStages]);
  const currentEvent = (event: TimelineEvent) => eventById(buffer, event.id) ?? event;
  const nodes = useMemo(() => stageGraph(session), [session]);
  const showStage = useCallback((id: string) => setStageTarget({ id }), []);
  const showAgent = useCallback((id: string, agent: string) => setStageTarget({ id, agent }), []);
  const { final_analysis: analysis, executive_summary: summary } = session;
  const { list, checked, error, doNow, text } = useCheckedAnalysis(session, concluded);
  const repeated = useMemo(() => new Set(concluded ? [analysis, summary].filter((shown) => shown !== null) : []), [concluded, analysis, summary]);
  const challenge = useMemo(() => challengeResult(session, events), [session, events]);
  const finding = useFinding(stages, events);
  const evidenceLinks = useEvidenceLinks(session, events, evidenceHref, onEvidence);
  const forkActions = useForkActions(session, setForkPoint);
  const approvals = useSessionApprovals(session.id);

  const wide = useMediaQuery((theme) => theme.breakpoints.up("md"));
  const withContents = useMediaQuery((theme) => theme.breakpoints.up("xl")) && evidence === null;
  const chatBeside = useMediaQuery((theme) => theme.breakpoints.up("lg"));
  const evidenceBeside = evidence !== null && wide;
  const hasChat = ended && session.chat_enabled;
  const hasQuestions = (useQuery({ ...chatMessages(session.id), enabled: hasChat }).data?.messages.length ?? 0) > 0;
  const citations = useLoadedCitations(session.id);
  const evidencePanel = (target: EvidenceTarget) => {
    const event = evidenceEvent(events, target.evidence);
    return {
      sessionId: session.id,
      target,
      citations,
      onTarget: onEvidence,
      onClose: () => onEvidence(null),
      link: new URL(evidenceHref(target), window.location.href).href,
      onTimeline: event && (() => onEvent(event.id)),
    };
  };
  const sections = [
    ...(concluded && (session.verdict !== null || session.citations !== null) ? ["Verdict"] : []),
    ...(concluded && (summary ?? text) ? ["Analysis"] : []),
    ...(ended ? ["Review"] : []),
    "Timeline",
  ];
  const about = (
    <>
      <Facts session={session} />
      {session.recorded && <RecordedBanner />}
      {reason && (
        <Alert severity={session.status === "failed" ? "error" : "warning"} variant="outlined" sx={{ overflowWrap: "anywhere" }}>
          {reason}
        </Alert>
      )}
      {session.waiting_reason && (
        <Alert severity="info" variant="outlined" role="group" sx={{ overflowWrap: "anywhere" }}>
          <span role="status">{session.waiting_reason.startsWith("Waiting ") ? session.waiting_reason : `Waiting: ${session.waiting_reason}`}</span>
          {session.waiting_until && (
            <>
              {" TARSy checks again "}
              <RelativeTime at={session.waiting_until} />.
            </>
          )}
        </Alert>
      )}
      {[...approvals.values()].map((one) => one.state === "pending" && <ApprovalCard key={one.id} approval={one} />)}
      <ActionsPanel actions={session.actions} actions_left_out={session.actions_left_out} />
      <StageGraph nodes={nodes} ended={ended} onStage={showStage} onAgent={showAgent} />
    </>
  );
  return (
    <RunBadgesContext value={session.waiting_reason === null ? RUN_BADGES : WAITING_RUN_BADGES}>
      <Stack spacing={2}>
        <Header session={session} onCancel={cancel.mutate} />
        {(cancel.error ?? cancelAgent.error) && <Failure what="It could not be cancelled." error={cancel.error ?? cancelAgent.error} />}
        {!concluded && about}
        <EvidenceLinksContext value={evidenceLinks}>
          <Box sx={{ display: "grid", displayPrint: "block", gridTemplateColumns: evidenceBeside ? WITH_EVIDENCE : withContents ? WITH_CONTENTS : WITH_ALERT, gap: 2, alignItems: "start" }}>
            {withContents && <Contents contents={contentsOf(sections, [summary, text].filter(Boolean).join("\n\n"), stages)} onStage={showStage} />}
            <Stack spacing={2} sx={{ minWidth: 0 }}>
              {concluded && <VerdictCard {...{ session, doNow, list, checked, error, challenge }} />}
              {concluded && about}
              {concluded && <Analysis {...{ session, text, checked }} />}
              {ended && (
                <Box sx={{ displayPrint: "none" }}>
                  <ReviewPanel sessionId={session.id} />
                </Box>
              )}
              {/* Only the part of it that is in view is in the page: a report has the whole. */}
              <Box sx={{ displayPrint: "none" }}>
                <Section title="Timeline" flush actions={<FindBar {...finding} />}>
                  {feed.phase === "loading" && <Loading what="the timeline" />}
                  {feed.phase === "failed" && <Failure what="The timeline could not be loaded; trying again." error={feed.error} />}
                  {feed.phase === "ready" && (
                    <FindTextContext value={finding.event === undefined ? "" : finding.text}>
                      <ForkActionsContext value={forkActions}>
                        <ApprovalsContext value={approvals}>
                          <Timeline {...{ stages, events, currentEvent, stageTarget, repeated, onLink }} growing={!ended} target={finding.event ?? linkedEvent} onCancelAgent={cancelAgent.mutate} onFollowing={arrival.onFollowing} />
                        </ApprovalsContext>
                      </ForkActionsContext>
                    </FindTextContext>
                  )}
                </Section>
              </Box>
              {/* Before the reader's eyes while the session runs, wherever the timeline is read. */}
              <Box data-covers-end={!ended} sx={ended ? {} : { position: "sticky", bottom: 0, zIndex: 3 }}>
                <HintPanel session={session} />
              </Box>
            </Stack>
            <Box sx={{ displayPrint: "none", position: { lg: "sticky", ...(evidenceBeside ? { md: "sticky" } : {}) }, top: SESSION_HEADER_PX, order: { xs: ended ? 1 : -1, lg: 0, ...(evidenceBeside ? { md: 0 } : {}) }, minWidth: 0 }}>
              {evidence && wide && <EvidenceSidePanel {...evidencePanel(evidence)} />}
              {/* Kept mounted while evidence is shown in its place: the chat may hold unsent text. */}
              <Box sx={evidenceBeside ? { display: "none" } : {}}>
                {hasChat && chatBeside ? (
                  <WindowHeightColumn>
                    <AlertPanel session={session} brief folded={hasQuestions} />
                    <ChatSidePanel>
                      <ChatPanel session={session} events={buffer.events} />
                    </ChatSidePanel>
                  </WindowHeightColumn>
                ) : (
                  <AlertPanel session={session} />
                )}
              </Box>
            </Box>
          </Box>
          {hasChat && !chatBeside && (
            <ChatDrawer hidden={evidence !== null}>
              <ChatPanel session={session} events={buffer.events} />
            </ChatDrawer>
          )}
          {arrival.unseen && <ShowAnalysisButton onShow={arrival.show} />}
          {evidence && !wide && <EvidenceDrawer {...evidencePanel(evidence)} />}
          {forkPoint && <ForkDialog session={session} point={forkPoint} onClose={() => setForkPoint(null)} />}
        </EvidenceLinksContext>
      </Stack>
    </RunBadgesContext>
  );
}

/** The event and the evidence in the address of the page, and functions that change them. */
function useSessionLinks(sessionId: string) {
  const { event, evidence, quote } = route.useSearch();
  const navigate = route.useNavigate();
  const router = useRouter();
  const shown = useMemo((): EvidenceTarget | null => (evidence === undefined ? null : { evidence, ...(quote === undefined ? {} : { quote }) }), [evidence, quote]);
  const onEvent = useCallback((eventId: string) => void navigate({ search: { event: eventId }, resetScroll: false }), [navigate]);
  const onLink = useCallback(
    (eventId: string) => {
      void navigate({ search: { event: eventId }, replace: true, resetScroll: false });
      return new URL(`/sessions/${sessionId}?event=${eventId}`, window.location.origin).href;
    },
    [navigate, sessionId],
  );
  const isOpen = evidence !== undefined;
  // Opening evidence adds a step to the history; going from one result to the next does not.
  const onEvidence = useCallback(
    (target: EvidenceTarget | null) => {
      keepInPlace(document.activeElement);
      void navigate({ search: target ?? {}, replace: isOpen || target === null, resetScroll: false });
    },
    [navigate, isOpen],
  );
  const evidenceHref = useCallback((target: EvidenceTarget) => router.buildLocation({ to: "/sessions/$sessionId", params: { sessionId }, search: { ...target } }).href, [router, sessionId]);
  return { event, evidence: shown, onLink, onEvent, onEvidence, evidenceHref };
}

/** Scrolls so that an element stays under the pointer, though the text around it is wrapped anew when a panel opens beside it. */
function keepInPlace(element: Element | null): void {
  if (!element?.matches("a.citation")) return;
  const { top } = element.getBoundingClientRect();
  const until = performance.now() + REFLOW_MS;
  const follow = () => {
    if (!element.isConnected) return;
    window.scrollBy({ top: element.getBoundingClientRect().top - top, behavior: "instant" });
    if (performance.now() < until) requestAnimationFrame(follow);
  };
  requestAnimationFrame(follow);
}

// The panel loads its content before it has its size.
const REFLOW_MS = 250;

/** Null for old sessions, whose tool results have no ids: their texts have no citations. */
function useEvidenceLinks({ id, citations }: SessionDetail, events: readonly TimelineEvent[], hrefOf: EvidenceLinks["hrefOf"], open: EvidenceLinks["open"]): EvidenceLinks | null {
  const hasEvidence = citations !== null || events.some((event) => evidenceIdOf(event) !== null);
  return useMemo(() => (hasEvidence ? { sessionId: id, hrefOf, open } : null), [hasEvidence, id, hrefOf, open]);
}

/** Null where no model is available. */
function useForkActions({ status, stages }: SessionDetail, open: (point: ForkPoint) => void): ForkActions | null {
  const hasModels = (useQuery(models).data?.models.length ?? 0) > 0;
  const denial = useDenial("forkSession");
  return useMemo(() => (hasModels ? { refusal: (executionId) => denial ?? forkRefusal({ status, stages }, executionId), open } : null), [hasModels, denial, status, stages, open]);
}
