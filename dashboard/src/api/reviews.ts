/** Reviews of sessions, the triage of sessions and incidents, and the figures of reviews. */
import { queryOptions } from "@tanstack/react-query";
import type { ReviewRequest, TriageRequest } from "@/wire/types";
import { api, expectData } from "./client";

/** The session or the incident that people take care of. */
export interface Subject {
  kind: "session" | "incident";
  id: string;
}

export const reviewKey = (id: string) => ["review", id] as const;

/** The review of a session, and its triage. */
export function sessionReview(id: string) {
  return queryOptions({
    queryKey: reviewKey(id),
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/sessions/{session_id}/review", { params: { path: { session_id: id } }, signal })),
  });
}

export function reviewSession(id: string, body: ReviewRequest) {
  return expectData(api.POST("/api/v1/sessions/{session_id}/review", { params: { path: { session_id: id } }, body }));
}

/** Acknowledges or assigns a session or an incident. */
export function changeTriage({ kind, id }: Subject, body: TriageRequest) {
  return kind === "session"
    ? expectData(api.PATCH("/api/v1/sessions/{session_id}/triage", { params: { path: { session_id: id } }, body }))
    : expectData(api.PATCH("/api/v1/incidents/{incident_id}/triage", { params: { path: { incident_id: id } }, body }));
}

export function addComment({ kind, id }: Subject, text: string) {
  return kind === "session"
    ? expectData(api.POST("/api/v1/sessions/{session_id}/comments", { params: { path: { session_id: id } }, body: { text } }))
    : expectData(api.POST("/api/v1/incidents/{incident_id}/comments", { params: { path: { incident_id: id } }, body: { text } }));
}

/** How useful and how accurate verdicts were in each of the last weeks. */
export const reviewFigures = queryOptions({
  queryKey: ["reviews", "figures"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/reviews/figures", { signal })),
});
