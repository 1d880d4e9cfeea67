/** Sessions: lists, details, timelines, follow-up questions, notes and forks. */
import { queryOptions } from "@tanstack/react-query";
import type { ForkRequest, SessionList, SessionSort, SessionStatus, SortOrder, TimelineEvent, VerdictOutcome } from "@/wire/types";
import { api, expectData } from "./client";

export interface SessionFilter {
  status?: SessionStatus[] | undefined;
  alert_type?: string | undefined;
  chain_id?: string | undefined;
  outcome?: VerdictOutcome[] | undefined;
  reviewed?: boolean | undefined;
  text?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  id?: string[] | undefined;
}

/** A page of a list, and its order. */
export interface SessionSlice {
  sort?: SessionSort | undefined;
  order?: SortOrder | undefined;
  offset: number;
  limit: number;
}

// More than run at once anywhere; of a longer queue, the sessions that run next are listed.
const ACTIVE_LIMIT = 100;
// Messages keep a list current only while it is shown: when it is opened again, what is known may be old.
const LIVE = { staleTime: 0 };
// Results of the palette: enough to recognise a session.
const FOUND_LIMIT = 6;

export const sessionKeys = {
  all: ["sessions"] as const,
  active: (filter: SessionFilter) => ["sessions", "active", filter] as const,
  list: (filter: SessionFilter, slice: SessionSlice) => ["sessions", "list", filter, slice] as const,
  counts: (filter: SessionFilter) => ["sessions", "counts", filter] as const,
  detail: (id: string) => ["session", id] as const,
  chat: (id: string) => ["chat", id] as const,
  notes: (id: string) => ["notes", id] as const,
};

const path = (session_id: string) => ({ path: { session_id } });

export function activeSessions(filter: SessionFilter) {
  return queryOptions({
    ...LIVE,
    queryKey: sessionKeys.active(filter),
    queryFn: async ({ signal }): Promise<SessionList> => {
      const page = (status: SessionStatus[], sort: SessionSort) =>
        expectData(api.GET("/api/v1/sessions", { params: { query: { ...filter, status, sort, limit: ACTIVE_LIMIT } }, signal }));
      // Two requests: in one, a long queue would leave no room for the running sessions.
      const [running, queued] = await Promise.all([page(["in_progress", "waiting", "cancelling"], "created"), page(["pending"], "queue")]);
      const started = new Set(running.sessions.map(({ id }) => id));
      return { sessions: [...running.sessions, ...queued.sessions.filter(({ id }) => !started.has(id))], next_cursor: null };
    },
  });
}

export function sessionPage(filter: SessionFilter, slice: SessionSlice) {
  return queryOptions({
    ...LIVE,
    queryKey: sessionKeys.list(filter, slice),
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/sessions", { params: { query: { ...filter, ...slice } }, signal })),
  });
}

/** The newest sessions with this text, for the palette. */
export function foundSessions(text: string) {
  return queryOptions({
    queryKey: ["found", "sessions", text],
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/sessions", { params: { query: { limit: FOUND_LIMIT, ...(text ? { text } : {}) } }, signal })),
  });
}

/** The number of matching sessions by status. */
export function sessionCounts(filter: SessionFilter) {
  return queryOptions({
    ...LIVE,
    queryKey: sessionKeys.counts(filter),
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/session-counts", { params: { query: filter }, signal })),
  });
}

export function sessionDetail(id: string) {
  return queryOptions({
    queryKey: sessionKeys.detail(id),
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/sessions/{session_id}", { params: path(id), signal })),
  });
}

/** Loads all pages of a timeline. Changes made while they were read are delivered live after `lastEventId`. */
export async function loadTimeline(id: string, signal: AbortSignal): Promise<{ events: TimelineEvent[]; lastEventId: number }> {
  const events: TimelineEvent[] = [];
  let lastEventId: number | null = null;
  let after: number | null = 0;
  while (after !== null) {
    const page: { events: TimelineEvent[]; last_event_id: number; next_after: number | null } = await expectData(
      api.GET("/api/v1/sessions/{session_id}/timeline", { params: { ...path(id), query: { after } }, signal }),
    );
    events.push(...page.events);
    lastEventId ??= page.last_event_id;
    after = page.next_after;
  }
  return { events, lastEventId: lastEventId ?? 0 };
}

export function cancelSession(id: string) {
  return expectData(api.POST("/api/v1/sessions/{session_id}/cancel", { params: path(id) }));
}

/** Cancels every matching session that has not ended. */
export function cancelSessions(filter: SessionFilter) {
  return expectData(api.POST("/api/v1/cancellations", { params: { query: filter } }));
}

/** Deletes those of the sessions that have ended. */
export function deleteSessions(id: string[]) {
  return expectData(api.POST("/api/v1/deletions", { params: { query: { id } } }));
}

/** The address of a file with these sessions. */
export function exportAddress(ids: readonly string[]): string {
  return `/api/v1/session-export?${new URLSearchParams(ids.map((id) => ["id", id])).toString()}`;
}

export function cancelExecution(id: string, executionId: string) {
  return expectData(api.POST("/api/v1/sessions/{session_id}/executions/{execution_id}/cancel", { params: { path: { session_id: id, execution_id: executionId } } }));
}

export function chatMessages(id: string) {
  return queryOptions({
    queryKey: sessionKeys.chat(id),
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/sessions/{session_id}/chat/messages", { params: path(id), signal })),
  });
}

export function askQuestion(id: string, content: string) {
  return expectData(api.POST("/api/v1/sessions/{session_id}/chat/messages", { params: path(id), body: { content } }));
}

export function cancelAnswer(id: string, messageId: string) {
  return expectData(api.POST("/api/v1/sessions/{session_id}/chat/messages/{message_id}/cancel", { params: { path: { session_id: id, message_id: messageId } } }));
}

/** Hints and updates of alerts that were sent to the agents while they ran. */
export function sessionNotes(id: string) {
  return queryOptions({
    queryKey: sessionKeys.notes(id),
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/sessions/{session_id}/notes", { params: path(id), signal })),
  });
}

export function sendHint(id: string, text: string) {
  return expectData(api.POST("/api/v1/sessions/{session_id}/hints", { params: path(id), body: { text } }));
}

/** The models with which a fork can continue. */
export const models = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/models", { signal })),
  staleTime: 60_000,
});

/** Returns the id of the new session. */
export async function forkSession(id: string, body: ForkRequest): Promise<string> {
  const { session_id: forked } = await expectData(api.POST("/api/v1/sessions/{session_id}/fork", { params: path(id), body }));
  return forked;
}
