import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { copyText } from "@/components/clipboard";
import { ChatPanel } from "@/features/chat/chat-panel";
import { SessionPage } from "@/features/session-detail/session-page";

const route = getRouteApi("/sessions/$sessionId");

export function SessionRoute() {
  const { sessionId } = route.useParams();
  const { event } = route.useSearch();
  const navigate = route.useNavigate();
  const onLink = useCallback(
    (eventId: string) => {
      const address = new URL(`/sessions/${sessionId}?event=${eventId}`, window.location.origin);
      void copyText(address.href);
      void navigate({ search: { event: eventId }, replace: true, resetScroll: false });
    },
    [navigate, sessionId],
  );
  return <SessionPage key={sessionId} sessionId={sessionId} target={event} onLink={onLink} chat={(session, events) => <ChatPanel session={session} events={events} />} />;
}
