import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { copyText } from "@/components/clipboard";
import { ChatPanel } from "@/features/chat/chat-panel";
import { ForkDialog } from "@/features/fork/fork-dialog";
import { HintPanel } from "@/features/hints/hint-panel";
import { SessionPage } from "@/features/session-detail/session-page";
import type { EvidenceAddress } from "@/presentation/evidence-door";
import type { ForkAsk } from "@/presentation/fork-door";

const route = getRouteApi("/sessions/$sessionId");

export function SessionRoute() {
  const { sessionId } = route.useParams();
  const { event, evidence, quote } = route.useSearch();
  const navigate = route.useNavigate();
  const router = useRouter();
  const shown = useMemo(() => (evidence === undefined ? null : { evidence, ...(quote === undefined ? {} : { quote }) }), [evidence, quote]);
  const onLink = useCallback(
    (eventId: string) => {
      const address = new URL(`/sessions/${sessionId}?event=${eventId}`, window.location.origin);
      void copyText(address.href);
      void navigate({ search: { event: eventId }, replace: true, resetScroll: false });
    },
    [navigate, sessionId],
  );
  const onEvent = useCallback((eventId: string) => void navigate({ search: { event: eventId }, resetScroll: false }), [navigate]);
  const isOpen = evidence !== undefined;
  // Opening is a step that the browser's back button takes back; going from one result to the next is not another one.
  const onEvidence = useCallback((address: EvidenceAddress | null) => void navigate({ search: address ?? {}, replace: isOpen || address === null, resetScroll: false }), [navigate, isOpen]);
  const evidenceHref = useCallback((address: EvidenceAddress) => router.buildLocation({ to: "/sessions/$sessionId", params: { sessionId }, search: { ...address } }).href, [router, sessionId]);
  const [ask, setAsk] = useState<ForkAsk | null>(null);
  const onForked = (id: string) => {
    setAsk(null);
    void navigate({ to: "/sessions/$sessionId", params: { sessionId: id }, search: {} });
  };
  return (
    <SessionPage
      key={sessionId}
      sessionId={sessionId}
      target={event}
      evidence={shown}
      {...{ onLink, onEvent, onEvidence, evidenceHref }}
      chat={(session, events) => <ChatPanel session={session} events={events} />}
      hint={(session) => <HintPanel session={session} />}
      onFork={setAsk}
      fork={(session) => ask && <ForkDialog session={session} ask={ask} onClose={() => setAsk(null)} onForked={onForked} />}
    />
  );
}
