/** The items that the palette offers for the typed text. */
import { textParam } from "@/components/search-params";
import type { IncidentItem, SessionListItem } from "@/wire/types";

export type Target =
  | { kind: "session"; id: string }
  | { kind: "incident"; id: string }
  | { kind: "of-session"; to: "/sessions/$sessionId/trace" | "/sessions/$sessionId/compare"; id: string }
  | { kind: "again"; id: string }
  | { kind: "page"; to: "/incidents" | "/sessions" | "/alerts/new" | "/approvals" | "/reviews" | "/usage" | "/notifications" | "/system" | "/audit" }
  | { kind: "document"; href: string }
  | { kind: "search"; text: string }
  | { kind: "copy" }
  | { kind: "action"; action: "theme" | "help" };

export interface Item {
  key: string;
  group: "This session" | "Actions" | "Pages" | "Sessions" | "Incidents";
  label: string;
  /** More words by which a page or an action is found; shown beside sessions and incidents. */
  hint: string;
  target: Target;
  /** The result that it stands for. */
  found?: FoundSession | FoundIncident;
}

type FoundSession = Pick<SessionListItem, "id" | "title" | "alert_type" | "status" | "verdict" | "waiting_for_model" | "analysis_is_partial" | "created_at">;
type FoundIncident = Pick<IncidentItem, "id" | "title" | "source" | "last_session_status" | "verdict_outcome" | "verdict_confidence" | "waiting_for_model" | "analysis_is_partial" | "opened_at">;

function item(group: Item["group"], label: string, hint: string, target: Target, key = label): Item {
  return { key, group, label, hint, target };
}

const FIXED: readonly Item[] = [
  item("Pages", "New alert", "submit investigate", { kind: "page", to: "/alerts/new" }),
  item("Pages", "Sessions", "list investigations", { kind: "page", to: "/sessions" }),
  item("Pages", "Incidents", "list problems", { kind: "page", to: "/incidents" }),
  item("Pages", "Approvals", "approve reject tool calls waiting", { kind: "page", to: "/approvals" }),
  item("Pages", "Reviews", "feedback accuracy confidence useful", { kind: "page", to: "/reviews" }),
  item("Pages", "Usage", "cost tokens budget", { kind: "page", to: "/usage" }),
  item("Pages", "Notifications", "slack webhook mail targets dead letters send again", { kind: "page", to: "/notifications" }),
  item("Pages", "System", "health queue workers configuration warnings", { kind: "page", to: "/system" }),
  item("Pages", "Audit log", "who did what when", { kind: "page", to: "/audit" }),
  item("Pages", "Manual", "help documentation", { kind: "document", href: "/help/" }),
  item("Pages", "API reference", "openapi documentation", { kind: "document", href: "/docs" }),
  item("Actions", "Switch between light and dark", "theme", { kind: "action", action: "theme" }),
  item("Actions", "Copy the address of this page", "link share", { kind: "copy" }),
  item("Actions", "Show keyboard shortcuts", "keys", { kind: "action", action: "help" }),
];

const SESSION_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Items of the session whose page is open, pages and actions with all typed words, and the results of the server. An id leads straight to its session. */
export function paletteItems(typed: string, openSession: string | undefined, sessions: readonly FoundSession[], incidents: readonly FoundIncident[]): Item[] {
  const text = textParam(typed);
  const words = (text ?? "").toLowerCase().split(/\s+/);
  const ofSession =
    openSession === undefined
      ? []
      : [
          item("This session", "Trace", "calls time tokens this session", { kind: "of-session", to: "/sessions/$sessionId/trace", id: openSession }),
          item("This session", "Compare with another session", "difference this session", { kind: "of-session", to: "/sessions/$sessionId/compare", id: openSession }),
          item("This session", "Submit its alert again", "resubmit retry this session", { kind: "again", id: openSession }),
        ];
  return [
    ...(text !== undefined && SESSION_ID.test(text) ? [item("Sessions", "Open the session of this id", text, { kind: "session", id: text })] : []),
    ...[...ofSession, ...FIXED].filter(({ label, hint }) => words.every((word) => `${label} ${hint}`.toLowerCase().includes(word))),
    ...sessions.map((found) => ({ ...item("Sessions", found.title, found.alert_type, { kind: "session", id: found.id }, found.id), found })),
    ...incidents.map((found) => ({ ...item("Incidents", found.title, found.source, { kind: "incident", id: found.id }, found.id), found })),
    // Its key changes when results arrive: the first of them is highlighted then, not this item any longer.
    ...(text === undefined ? [] : [item("Sessions", `Search all sessions for “${text}”`, "", { kind: "search", text }, `search-${sessions.length + incidents.length}`)]),
  ];
}
