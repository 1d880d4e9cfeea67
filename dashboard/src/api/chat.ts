/** Follow-up questions to a session. */
import { queryOptions } from "@tanstack/react-query";
import { api, expectData } from "./client";

export const chatKey = (sessionId: string) => ["chat", sessionId] as const;

export function chatMessages(sessionId: string) {
  return queryOptions({
    queryKey: chatKey(sessionId),
    queryFn: ({ signal }) =>
      expectData(
        api.GET("/api/v1/sessions/{session_id}/chat/messages", { params: { path: { session_id: sessionId } }, signal }),
      ),
  });
}

export function ask(sessionId: string, content: string) {
  return expectData(
    api.POST("/api/v1/sessions/{session_id}/chat/messages", {
      params: { path: { session_id: sessionId } },
      body: { content },
    }),
  );
}

export function stopAnswer(sessionId: string, messageId: string) {
  return expectData(
    api.POST("/api/v1/sessions/{session_id}/chat/messages/{message_id}/cancel", {
      params: { path: { session_id: sessionId, message_id: messageId } },
    }),
  );
}
