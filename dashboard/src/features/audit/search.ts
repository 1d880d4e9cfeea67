/** The search parameters of the audit log, and the words for its actions. An action without words does not compile. */
import type { Period } from "@/components/search-params";
import { given, periodParam, textParam } from "@/components/search-params";
import type { AuditAction } from "@/wire/types";

export interface AuditSearch {
  actor?: string;
  action?: AuditAction;
  since?: Period;
}

export const ACTIONS = {
  "alert.submitted": "Alert submitted",
  "session.forked": "Session forked",
  "session.cancelled": "Session cancelled",
  "session.deleted": "Session deleted",
  "session.purged": "Session erased",
  "session.reviewed": "Session reviewed",
  "session.acknowledged": "Session acknowledged",
  "session.assigned": "Session assigned",
  "session.commented": "Session commented",
  "execution.cancelled": "Agent cancelled",
  "call.approved": "Tool call approved",
  "call.rejected": "Tool call rejected",
  "chat.asked": "Question asked",
  "chat.cancelled": "Question cancelled",
  "hint.given": "Hint given",
  "score.requested": "Score requested",
  "config.viewed": "Configuration viewed",
  "config.reloaded": "Configuration reloaded",
  "setup.opened": "Setup opened",
  "setup.changed": "Setup changed",
  "work.paused": "Work paused",
  "work.resumed": "Work resumed",
  "alerts.muted": "Alerts muted",
  "mute.ended": "Mute ended",
  "incident.investigated": "Incident investigated",
  "incident.resolved": "Incident resolved",
  "incident.acknowledged": "Incident acknowledged",
  "incident.assigned": "Incident assigned",
  "incident.commented": "Incident commented",
  "incidents.merged": "Incidents merged",
  "incident.split": "Incident split",
  "notification.sent_again": "Notification sent again",
  "notification.tested": "Notification target tested",
  "tools.accepted": "Tools accepted",
  "token.created": "Token created",
  "token.revoked": "Token revoked",
  "sign_in.created": "Signed in",
  "sign_in.ended": "Signed out",
} satisfies Record<AuditAction, string>;

export function readAuditSearch(raw: Record<string, unknown>): AuditSearch {
  return {
    ...given("actor", textParam(raw["actor"])),
    ...given("action", (Object.keys(ACTIONS) as AuditAction[]).find((action) => action === raw["action"])),
    ...given("since", periodParam(raw["since"])),
  };
}
