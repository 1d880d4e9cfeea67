/** Pure module: what the palette offers for what was typed. */
import { word } from "@/components/search-words";
import type { IncidentItem, SessionListItem } from "@/wire/types";

export type Target =
  | { kind: "session"; id: string }
  | { kind: "incident"; id: string }
  | { kind: "of-session"; to: "/sessions/$sessionId/trace" | "/sessions/$sessionId/compare"; id: string }
  | { kind: "again"; id: string }
  | { kind: "page"; to: "/incidents" | "/sessions" | "/alerts/new" | "/usage" | "/system" }
  | { kind: "document"; href: string }
  | { kind: "search"; text: string }
  | { kind: "action"; action: "theme" | "copy" | "help" };

export interface Item {
  key: string;
  group: "This session" | "Actions" | "Pages" | "Sessions" | "Incidents";
  label: string;
  hint: string;
  target: Target;
}

const FIXED: readonly Item[] = [
  page("New alert", "/alerts/new", "submit investigate"),
  page("Sessions", "/sessions", "list investigations"),
  page("Incidents", "/incidents", "list problems"),
  page("Usage", "/usage", "cost tokens budget"),
  page("System", "/system", "health queue workers configuration warnings"),
  document("Manual", "/help/", "help documentation"),
  document("API reference", "/docs", "openapi documentation"),
  action("Switch between light and dark", "theme", "theme"),
  action("Copy the address of this page", "copy", "link share"),
  action("Show keyboard shortcuts", "help", "keys"),
];

function page(label: string, to: Extract<Target, { kind: "page" }>["to"], hint: string): Item {
  return { key: to, group: "Pages", label, hint, target: { kind: "page", to } };
}

function document(label: string, href: string, hint: string): Item {
  return { key: href, group: "Pages", label, hint, target: { kind: "document", href } };
}

function action(label: string, name: Extract<Target, { kind: "action" }>["action"], hint: string): Item {
  return { key: `action-${name}`, group: "Actions", label, hint, target: { kind: "action", action: name } };
}

/** What can be done from the page of a session, wherever on it one is. */
function ofSession(id: string): Item[] {
  const item = (label: string, hint: string, target: Target): Item => ({ key: label, group: "This session", label, hint, target });
  return [
    item("Trace", "calls time tokens this session", { kind: "of-session", to: "/sessions/$sessionId/trace", id }),
    item("Compare with another session", "difference this session", { kind: "of-session", to: "/sessions/$sessionId/compare", id }),
    item("Submit its alert again", "resubmit retry this session", { kind: "again", id }),
  ];
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** What the session `here` offers, pages and actions by their words, then what the server found; an id leads straight to its session. */
export function paletteItems(typed: string, here: string | undefined, sessions: readonly Pick<SessionListItem, "id" | "title" | "alert_type" | "status">[], incidents: readonly Pick<IncidentItem, "id" | "title" | "source">[]): Item[] {
  const text = word(typed);
  const words = (text ?? "").toLowerCase().split(/\s+/);
  const fixed = [...(here === undefined ? [] : ofSession(here)), ...FIXED].filter(({ label, hint }) => words.every((one) => `${label} ${hint}`.toLowerCase().includes(one)));
  const byId: Item[] = text !== undefined && ID.test(text) ? [{ key: "by-id", group: "Sessions", label: "Open the session of this id", hint: text, target: { kind: "session", id: text } }] : [];
  return [
    ...byId,
    ...fixed,
    ...sessions.map((found): Item => ({ key: found.id, group: "Sessions", label: found.title, hint: found.alert_type, target: { kind: "session", id: found.id } })),
    ...incidents.map((found): Item => ({ key: found.id, group: "Incidents", label: found.title, hint: found.source, target: { kind: "incident", id: found.id } })),
    ...(text === undefined ? [] : [{ key: "search", group: "Sessions", label: `Search all sessions for “${text}”`, hint: "", target: { kind: "search", text } } satisfies Item]),
  ];
}
