/** A session and its timeline, kept current by live messages. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { refetchChanged, useThrottledRefetch } from "@/api/refetch";
import { loadTimeline, sessionDetail, sessionKeys } from "@/api/sessions";
import { useSessionTimeline } from "@/live/session-feed";
import { withOwnTimes } from "@/presentation/forks";
import type { LiveMessage } from "@/wire/live-messages";
import { mayFollowGap } from "@/wire/live-messages";

const REFETCH_EVERY_MS = 700;

export function useLiveSession(id: string) {
  const client = useQueryClient();
  // By `select`, which keeps its result: a new object for every frame of streamed text would render all rows again.
  const session = useQuery({ ...sessionDetail(id), select: withOwnTimes });
  const refetch = useThrottledRefetch([sessionKeys.detail(id)], REFETCH_EVERY_MS);
  const onMessages = (messages: readonly LiveMessage[]) => {
    if (messages.some(changesSession)) refetch();
    if (messages.some((message) => message.type === "chat.message" || mayFollowGap(message))) void refetchChanged(client, sessionKeys.chat(id));
    if (messages.some(changesNotes)) void refetchChanged(client, sessionKeys.notes(id));
  };
  const feed = useSessionTimeline(id, loadTimeline, onMessages);
  return { session, feed };
}

/** Whether the session has to be refetched after a message. */
export function changesSession(message: LiveMessage): boolean {
  switch (message.type) {
    case "session.status":
    case "session.concluded":
    case "session.completed":
    case "stage.started":
    case "stage.completed":
    case "execution.status":
    case "interaction.created":
    case "chat.message":
    case "subscription.confirmed":
    case "catchup.overflow":
      return true;
    case "timeline_event.created":
    case "timeline_event.completed":
    case "note.created":
    case "approval.changed":
    case "stream.chunk":
    case "session.progress":
    case "pauses.changed":
    case "incident.changed":
    case "connection.established":
    case "subscription.error":
    case "error":
    case "pong":
      return false;
  }
}

/** Whether a note was created, delivered, or came too late. */
function changesNotes(message: LiveMessage): boolean {
  if (message.type === "timeline_event.created") return message.event.event_type === "note";
  return message.type === "note.created" || message.type === "session.completed" || mayFollowGap(message);
}
