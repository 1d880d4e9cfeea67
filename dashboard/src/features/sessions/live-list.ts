/** Pure module: what a live message makes of a page of sessions, before the server is asked again. */
import type { LiveMessage } from "@/wire/live-messages";
import type { SessionList, SessionListItem } from "@/wire/types";

/** Whether the list has to be asked anew: rows may come, go or move. */
export function changesList(message: LiveMessage): boolean {
  return (
    message.type === "session.status" ||
    message.type === "session.completed" ||
    message.type === "stage.started" ||
    message.type === "subscription.confirmed" ||
    message.type === "catchup.overflow"
  );
}

/** What is being worked on first, then the queue in its order. */
export function inOrderOfWork(sessions: readonly SessionListItem[]): SessionListItem[] {
  const place = (session: SessionListItem) => (session.status === "pending" ? (session.queue_position ?? Number.MAX_SAFE_INTEGER) : 0);
  return [...sessions].sort((a, b) => place(a) - place(b));
}

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
      return { id: message.session_id, status: message.status, waiting_reason: message.waiting_reason ?? null, ...(message.status === "pending" ? {} : { queue_position: null }) };
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
