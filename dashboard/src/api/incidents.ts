/** Incidents and mutes. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { IncidentState, Severity, VerdictOutcome } from "@/wire/types";
import { api, expectData } from "./client";

export interface IncidentFilter {
  sort?: "opened" | "severity";
  state?: IncidentState[] | undefined;
  severity?: Severity[] | undefined;
  source?: string[] | undefined;
  label?: string[] | undefined;
  verdict?: VerdictOutcome[] | undefined;
  text?: string | undefined;
  from?: string | undefined;
}

const FIRST_PAGE_LIMIT = 50;
// The server's limit: every page that was loaded is requested again when an incident changes.
const NEXT_PAGE_LIMIT = 200;
// Candidates to merge: more are found by typing.
const CANDIDATE_LIMIT = 20;
// Results of the palette: enough to recognise an incident.
const FOUND_LIMIT = 4;

export const incidentKeys = {
  all: ["incidents"] as const,
  detail: (id: string) => ["incident", id] as const,
};

const path = (incident_id: string) => ({ path: { incident_id } });

export function incidentPages(filter: IncidentFilter) {
  return infiniteQueryOptions({
    queryKey: [...incidentKeys.all, "list", filter],
    queryFn: ({ pageParam, signal }) => expectData(api.GET("/api/v1/incidents", { params: { query: { ...filter, limit: pageParam === null ? FIRST_PAGE_LIMIT : NEXT_PAGE_LIMIT, cursor: pageParam } }, signal })),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
}

/** Whether there has ever been an incident. */
export const anyIncident = queryOptions({
  queryKey: [...incidentKeys.all, "any"],
  queryFn: async ({ signal }) => {
    const page = await expectData(api.GET("/api/v1/incidents", { params: { query: { limit: 1 } }, signal }));
    return page.total > 0;
  },
});

/** The newest incidents with this text, for the palette. */
export function foundIncidents(text: string) {
  return queryOptions({
    queryKey: ["found", "incidents", text],
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/incidents", { params: { query: { limit: FOUND_LIMIT, ...(text ? { text } : {}) } }, signal })),
  });
}

/** The open incidents with this text, as candidates to merge. */
export function openIncidents(text: string) {
  return queryOptions({
    queryKey: [...incidentKeys.all, "open", text],
    queryFn: ({ signal }) =>
      expectData(api.GET("/api/v1/incidents", { params: { query: { state: ["open"], limit: CANDIDATE_LIMIT, ...(text ? { text } : {}) } }, signal })),
  });
}

export function incidentDetail(id: string) {
  return queryOptions({
    queryKey: incidentKeys.detail(id),
    // Messages keep an incident current only while its page is open: when it is opened again, what is known may be old.
    staleTime: 0,
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/incidents/{incident_id}", { params: path(id), signal })),
  });
}

export function investigate(id: string) {
  return expectData(api.POST("/api/v1/incidents/{incident_id}/investigate", { params: path(id) }));
}

export function resolveIncident(id: string) {
  return expectData(api.POST("/api/v1/incidents/{incident_id}/resolve", { params: path(id) }));
}

export function mergeIncident(id: string, other: string) {
  return expectData(api.POST("/api/v1/incidents/{incident_id}/merge", { params: path(id), body: { incident_id: other } }));
}

export function splitIncident(id: string, alerts: string[]) {
  return expectData(api.POST("/api/v1/incidents/{incident_id}/split", { params: path(id), body: { alerts } }));
}

export function muteIncident(id: string, ends: Date, reason: string) {
  return expectData(api.POST("/api/v1/incidents/{incident_id}/mute", { params: path(id), body: { ends: ends.toISOString(), reason } }));
}

export const mutes = queryOptions({
  queryKey: ["mutes"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/mutes", { signal })),
  refetchInterval: 60_000,
});

export function addMute(match: string[], ends: Date, reason: string) {
  return expectData(api.POST("/api/v1/mutes", { body: { match, ends: ends.toISOString(), reason } }));
}

export function endMute(id: string) {
  return expectData(api.DELETE("/api/v1/mutes/{mute_id}", { params: { path: { mute_id: id } } }));
}
