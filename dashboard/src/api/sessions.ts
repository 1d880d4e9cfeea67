/** Sessions: lists, details, timelines, and what can be done to them. */
import type { QueryClient } from "@tanstack/react-query";
import { queryOptions } from "@tanstack/react-query";
import type { SessionList, SessionSort, SessionStatus, SortOrder, TimelineEvent } from "@/wire/types";
import { refetchChanged } from "./refetch";
import { api, expectData } from "./client";

export interface SessionFilter {
  status?: SessionStatus[] | undefined;
  alert_type?: string | undefined;
  chain_id?: string | undefined;
  text?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  id?: string[] | undefined;
}

/** Which part of a list, in which order. */
export interface SessionPlace {
  sort?: SessionSort | undefined;
  order?: SortOrder | undefined;
  offset: number;
  limit: number;
}

export const ACTIVE: SessionStatus[] = ["pending", "in_progress", "waiting", "cancelling"];
export const ENDED: SessionStatus[] = ["completed", "failed", "timed_out", "cancelled"];
// More than can run at once anywhere; of a longer queue those are listed that run next.
const ACTIVE_LIMIT = 100;

export const sessionKeys = {
  all: ["sessions"] as const,
  active: (filter: SessionFilter) => ["sessions", "active", filter] as const,
  list: (filter: SessionFilter, place: SessionPlace) => ["sessions", "list", filter, place] as const,
  counts: (filter: SessionFilter) => ["sessions", "counts", filter] as const,
  detail: (id: string) => ["session", id] as const,
};

export function activeSessions(filter: SessionFilter) {
  return queryOptions({
    queryKey: sessionKeys.active(filter),
    queryFn: async ({ signal }): Promise<SessionList> => {
      const page = (status: SessionStatus[], sort: SessionSort) =>
        expectData(api.GET("/api/v1/sessions", { params: { query: { ...filter, status, sort, limit: ACTIVE_LIMIT } }, signal }));
      // Each on its own: a long queue would leave no room for what is being worked on.
      const [working, queued] = await Promise.all([page(["in_progress", "waiting", "cancelling"], "created"), page(["pending"], "queue")]);
      const begun = new Set(working.sessions.map(({ id }) => id));
      return { sessions: [...working.sessions, ...queued.sessions.filter(({ id }) => !begun.has(id))], next_cursor: null };
    },
  });
}

export function sessionPage(filter: SessionFilter, place: SessionPlace) {
  return queryOptions({
    queryKey: sessionKeys.list(filter, place),
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/sessions", { params: { query: { ...filter, ...place } }, signal })),
  });
}

// Enough to recognise the one that is meant; the list finds the others.
const FOUND = 6;

/** The newest sessions with these words, or at all. */
export function foundSessions(text: string) {
  return queryOptions({
    queryKey: ["found", "sessions", text],
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/sessions", { params: { query: { limit: FOUND, ...(text ? { text } : {}) } }, signal })),
  });
}

/** How many fit, by status: what a list of pages cannot tell by itself. */
export function sessionCounts(filter: SessionFilter) {
  return queryOptions({
    queryKey: sessionKeys.counts(filter),
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/session-counts", { params: { query: filter }, signal })),
  });
}

export function sessionDetail(id: string) {
  return queryOptions({
    queryKey: sessionKeys.detail(id),
    queryFn: ({ signal }) =>
      expectData(api.GET("/api/v1/sessions/{session_id}", { params: { path: { session_id: id } }, signal })),
  });
}

/** All pages of a timeline. What changed while they were read is told after `lastEventId`. */
export async function loadTimeline(id: string): Promise<{ events: TimelineEvent[]; lastEventId: number }> {
  const events: TimelineEvent[] = [];
  let lastEventId: number | null = null;
  let after: number | null = 0;
  while (after !== null) {
    const page: { events: TimelineEvent[]; last_event_id: number; next_after: number | null } = await expectData(
      api.GET("/api/v1/sessions/{session_id}/timeline", { params: { path: { session_id: id }, query: { after } } }),
    );
    events.push(...page.events);
    lastEventId ??= page.last_event_id;
    after = page.next_after;
  }
  return { events, lastEventId: lastEventId ?? 0 };
}

export function cancelSession(id: string) {
  return expectData(api.POST("/api/v1/sessions/{session_id}/cancel", { params: { path: { session_id: id } } }));
}

/** Stop everything that fits and has not ended. */
export function cancelSessions(filter: SessionFilter) {
  return expectData(api.POST("/api/v1/cancellations", { params: { query: filter } }));
}

/** Hide those of these that have ended. */
export function deleteSessions(id: string[]) {
  return expectData(api.POST("/api/v1/deletions", { params: { query: { id } } }));
}

/** Where the file of these sessions is. */
export function exportAddress(id: readonly string[]): string {
  return `/api/v1/session-export?${new URLSearchParams(id.map((one) => ["id", one])).toString()}`;
}

export function cancelExecution(id: string, executionId: string) {
  return expectData(
    api.POST("/api/v1/sessions/{session_id}/executions/{execution_id}/cancel", {
      params: { path: { session_id: id, execution_id: executionId } },
    }),
  );
}

export function refreshSession(client: QueryClient, id: string): Promise<void> {
  return refetchChanged(client, sessionKeys.detail(id));
}
