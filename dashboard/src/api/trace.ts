/** The model and tool calls of a session. */
import { queryOptions } from "@tanstack/react-query";
import { api, expectData } from "./client";

export const traceKey = (sessionId: string) => ["trace", sessionId] as const;

export function traceList(sessionId: string) {
  return queryOptions({
    queryKey: traceKey(sessionId),
    queryFn: ({ signal }) =>
      expectData(api.GET("/api/v1/sessions/{session_id}/trace", { params: { path: { session_id: sessionId } }, signal })),
  });
}

// A finished call does not change.
const FIXED = { staleTime: Infinity };

export function llmCall(sessionId: string, id: string) {
  return queryOptions({
    queryKey: ["trace-llm", sessionId, id],
    queryFn: ({ signal }) =>
      expectData(api.GET("/api/v1/sessions/{session_id}/trace/llm/{interaction_id}", { params: { path: { session_id: sessionId, interaction_id: id } }, signal })),
    ...FIXED,
  });
}

/** The request to the model as a shell command. */
export function llmCallAsCurl(sessionId: string, id: string) {
  return queryOptions({
    queryKey: ["trace-curl", sessionId, id],
    queryFn: ({ signal }) =>
      expectData(api.GET("/api/v1/sessions/{session_id}/trace/llm/{interaction_id}/curl", { params: { path: { session_id: sessionId, interaction_id: id } }, parseAs: "text", signal })),
    ...FIXED,
  });
}

export function mcpCall(sessionId: string, id: string) {
  return queryOptions({
    queryKey: ["trace-mcp", sessionId, id],
    queryFn: ({ signal }) =>
      expectData(api.GET("/api/v1/sessions/{session_id}/trace/mcp/{interaction_id}", { params: { path: { session_id: sessionId, interaction_id: id } }, signal })),
    ...FIXED,
  });
}
