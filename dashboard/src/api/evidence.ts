/** Evidence, by the ids with which agents cite it, and checked citations. */
import { queryOptions } from "@tanstack/react-query";
import { api, expectData } from "./client";

// Neither evidence nor a checked answer changes.
const FIXED = { staleTime: Infinity };

export function evidenceDetail(sessionId: string, evidenceId: string) {
  return queryOptions({
    queryKey: ["evidence", sessionId, evidenceId],
    queryFn: ({ signal }) =>
      expectData(api.GET("/api/v1/sessions/{session_id}/evidence/{evidence_id}", { params: { path: { session_id: sessionId, evidence_id: evidenceId } }, signal })),
    ...FIXED,
  });
}

export const citationsKey = (sessionId: string) => ["citations", sessionId] as const;

/** The citations of the session's analysis. */
export function analysisCitations(sessionId: string) {
  return queryOptions({
    queryKey: [...citationsKey(sessionId), "analysis"],
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/sessions/{session_id}/citations", { params: { path: { session_id: sessionId } }, signal })),
    ...FIXED,
  });
}

/** The citations of one agent's answer, such as the answer to a question. */
export function answerCitations(sessionId: string, executionId: string) {
  return queryOptions({
    queryKey: [...citationsKey(sessionId), executionId],
    queryFn: ({ signal }) =>
      expectData(api.GET("/api/v1/sessions/{session_id}/citations", { params: { path: { session_id: sessionId }, query: { execution_id: executionId } }, signal })),
    ...FIXED,
  });
}
