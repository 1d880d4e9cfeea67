/** What reaches an investigation from outside while it runs. */
import { queryOptions } from "@tanstack/react-query";
import { api, expectData } from "./client";

export const notesKey = (sessionId: string) => ["notes", sessionId] as const;

export function sessionNotes(sessionId: string) {
  return queryOptions({
    queryKey: notesKey(sessionId),
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/sessions/{session_id}/notes", { params: { path: { session_id: sessionId } }, signal })),
  });
}

export function giveHint(sessionId: string, text: string) {
  return expectData(api.POST("/api/v1/sessions/{session_id}/hints", { params: { path: { session_id: sessionId } }, body: { text } }));
}
