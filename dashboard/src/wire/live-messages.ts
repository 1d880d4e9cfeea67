/** The messages that the server sends over the WebSocket. */
import type { ApprovalState, PauseItem, RunStatus, SessionStatus, StageType, TimelineEvent, TimelineEventType, TimelineStatus, Verdict } from "./types";

interface OnChannel {
  channel: string;
}
/** Stored by the server: delivered in order, and again after a reconnect if it was missed. */
interface Stored extends OnChannel {
  id: number;
  session_id: string;
}

type ControlMessage =
  | { type: "connection.established"; connection_id: string }
  | ({ type: "subscription.confirmed"; last_event_id: number } & OnChannel)
  | ({ type: "subscription.error"; message: string } & OnChannel)
  | ({ type: "catchup.overflow"; last_event_id: number } & OnChannel)
  | { type: "error"; message: string }
  | { type: "pong" };

type StoredMessage = Stored &
  (
    | { type: "timeline_event.created"; event: TimelineEvent }
    | {
        type: "timeline_event.completed";
        event_id: string;
        event_type: TimelineEventType | null;
        status: TimelineStatus;
        content: string;
        metadata: Record<string, unknown>;
        completed_at: string;
      }
    | { type: "session.status"; status: SessionStatus; alert_type: string; at: string; waiting_reason?: string | null }
    | { type: "session.concluded"; final_analysis: string | null; analysis_is_partial: boolean; analysis_partial_reason: string | null; verdict: Verdict | null }
    | {
        type: "session.completed";
        status: SessionStatus;
        alert_type: string;
        at: string;
        error_message: string | null;
        analysis_is_partial: boolean;
        analysis_partial_reason?: string | null;
        final_analysis?: string | null;
        executive_summary?: string | null;
        /** Null if the analysis has none; absent from servers of older versions. */
        verdict?: Verdict | null;
      }
    | { type: "stage.started"; stage_id: string; stage_name: string; stage_index: number; stage_type: StageType }
    | { type: "stage.completed"; stage_id: string; status: RunStatus }
    | { type: "execution.status"; execution_id: string; status: RunStatus | null }
    | { type: "chat.message"; message_id: string; status: RunStatus }
    | { type: "note.created"; note: { number: number } }
    | { type: "approval.changed"; approval_id: string; server: string; tool: string; state: ApprovalState; expires_at: string; decided_by: string | null }
    | { type: "interaction.created"; interaction_id: string; interaction_type: "llm" | "mcp" }
  );

/** All pauses of the installation. */
type PausesMessage = OnChannel & { id: number; type: "pauses.changed"; pauses: PauseItem[] };

/** An incident was opened or changed. */
type IncidentMessage = OnChannel & { id: number; type: "incident.changed"; incident_id: string };

type TransientMessage = OnChannel &
  (
    | { type: "stream.chunk"; session_id: string; event_id: string; offset: number; delta: string }
    | {
        type: "session.progress";
        session_id: string;
        stage_name: string;
        stage_index: number;
        stage_count: number;
      }
  );

export type LiveMessage = ControlMessage | StoredMessage | PausesMessage | IncidentMessage | TransientMessage;
type LiveMessageType = LiveMessage["type"];

const TYPES = {
  "connection.established": true,
  "subscription.confirmed": true,
  "subscription.error": true,
  "catchup.overflow": true,
  error: true,
  pong: true,
  "timeline_event.created": true,
  "timeline_event.completed": true,
  "session.status": true,
  "session.concluded": true,
  "session.completed": true,
  "stage.started": true,
  "stage.completed": true,
  "execution.status": true,
  "chat.message": true,
  "note.created": true,
  "approval.changed": true,
  "interaction.created": true,
  "pauses.changed": true,
  "incident.changed": true,
  "stream.chunk": true,
  "session.progress": true,
} satisfies Record<LiveMessageType, true>;

/** Returns null for a message type that this page does not know: the server may be newer. */
export function parseLiveMessage(text: string): LiveMessage | null {
  const message: unknown = JSON.parse(text);
  if (typeof message !== "object" || message === null || !("type" in message)) return null;
  const { type } = message;
  return typeof type === "string" && Object.hasOwn(TYPES, type) ? (message as LiveMessage) : null;
}

/** Whether messages before this one may not have been delivered. */
export function mayFollowGap({ type }: LiveMessage): boolean {
  return type === "subscription.confirmed" || type === "catchup.overflow";
}

export function channelOf(message: LiveMessage): string | null {
  return "channel" in message ? message.channel : null;
}
