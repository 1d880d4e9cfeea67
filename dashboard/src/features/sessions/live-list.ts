/** Keeps the session list current by live messages. */
import { useQueryClient } from "@tanstack/react-query";
import { useThrottledRefetch } from "@/api/refetch";
import { sessionKeys } from "@/api/sessions";
import { useChannel } from "@/live/connection";
import type { LiveMessage } from "@/wire/live-messages";
import type { SessionList, SessionListItem } from "@/wire/types";

// Limits requests during an alert storm.
const REFETCH_EVERY_MS = 1_000;

export function useLiveList(): void {
  const client = useQueryClient();
  const refetch = useThrottledRefetch([sessionKeys.all], REFETCH_EVERY_MS);
  useChannel("sessions", (message) => {
    for (const list of ["active", "list"]) {
      client.setQueriesData<SessionList>({ queryKey: ["sessions", list] }, (known) => known && withMessage(known, message));
    }
    if (changesList(message)) refetch();
  });
}

/** Whether the list has to be refetched after a message: rows may be added, removed or moved. */
export function changesList(message: LiveMessage): boolean {
  return (
    message.type === "session.status" ||
    message.type === "session.completed" ||
    message.type === "stage.started" ||
    message.type === "subscription.confirmed" ||
    message.type === "catchup.overflow"
  );
}

/** Sorts running sessions first, then the queue by position. */
export function sortActive(sessions: readonly SessionListItem[]): SessionListItem[] {
  const position = (session: SessionListItem) => (session.status === "pending" ? (session.queue_position ?? Number.MAX_SAFE_INTEGER) : 0);
  return [...sessions].sort((a, b) => position(a) - position(b));
}

/** Applies the changes that a message contains. Returns the same object if there are none, so that nothing renders again. */
export function withMessage(list: SessionList, message: LiveMessage): SessionList {
  const change = changeOf(message);
  if (!change || !list.sessions.some((session) => session.id === change.id)) return list;
  return {
    ...list,
    sessions: list.sessions.map((session) => (session.id === change.id ? { ...session, ...change } : session)),
  };
}

function changeOf(message: LiveMessage): (Partial<SessionListItem> & { id: string }) | null {
  switch (message.type) {
    case "session.status":
      return { id: message.session_id, status: message.status, waiting_reason: message.waiting_reason ?? null, waiting_for_model: false, ...(message.status === "pending" ? {} : { queue_position: null }) };
    case "session.completed":
      return { id: message.session_id, status: message.status, error_message: message.error_message, completed_at: message.at, verdict: message.verdict ?? null };
    case "stage.started":
      return { id: message.session_id, current_stage_name: message.stage_name, current_stage_index: message.stage_index };
    case "session.progress":
      return {
        id: message.session_id,
        current_stage_name: message.stage_name,
        current_stage_index: message.stage_index,
        stage_count: message.stage_count,
      };
    default:
      return null;
  }
}
