/** Every call of a session to a model or a tool. */
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

// A call that was made does not change.
const FIXED = { staleTime: Infinity };

export function llmCall(sessionId: string, id: string) {
  return queryOptions({
    queryKey: ["trace-llm", sessionId, id],
    queryFn: ({ signal }) =>
      expectData(
        api.GET("/api/v1/sessions/{session_id}/trace/llm/{interaction_id}", {
          params: { path: { session_id: sessionId, interaction_id: id } },
          signal,
        }),
      ),
    ...FIXED,
  });
}

/** What a model was asked, as a command for a shell. */
export function llmCallAsCurl(sessionId: string, id: string) {
  return queryOptions({
    queryKey: ["trace-curl", sessionId, id],
    queryFn: ({ signal }) =>
      expectData(
        api.GET("/api/v1/sessions/{session_id}/trace/llm/{interaction_id}/curl", {
          params: { path: { session_id: sessionId, interaction_id: id } },
          parseAs: "text",
          signal,
        }),
      ),
    ...FIXED,
  });
}

export function mcpCall(sessionId: string, id: string) {
  return queryOptions({
    queryKey: ["trace-mcp", sessionId, id],
    queryFn: ({ signal }) =>
      expectData(
        api.GET("/api/v1/sessions/{session_id}/trace/mcp/{interaction_id}", {
          params: { path: { session_id: sessionId, interaction_id: id } },
          signal,
        }),
      ),
    ...FIXED,
  });
}
