/** A session and its timeline, kept current while they are shown. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { refetchChanged } from "@/api/refetch";
import { chatKey } from "@/api/chat";
import { notesKey } from "@/api/notes";
import { loadTimeline, refreshSession, sessionDetail, sessionKeys } from "@/api/sessions";
import { useThrottled } from "@/components/use-throttled";
import { useSessionTimeline } from "@/live/use-session-timeline";
import type { LiveMessage } from "@/wire/live-messages";
import type { SessionDetail } from "@/wire/types";
import { changesNotes, changesSession, withMessage } from "./session-patch";

const REFRESH_EVERY_MS = 700;

export function useLiveSession(id: string) {
  const client = useQueryClient();
  const session = useQuery(sessionDetail(id));
  const refresh = useThrottled(() => void refreshSession(client, id), REFRESH_EVERY_MS);
  const heard = (messages: readonly LiveMessage[]) => {
    // Most batches hold nothing but text.
    if (messages.every((message) => message.type === "stream.chunk")) return;
    client.setQueryData<SessionDetail>(sessionKeys.detail(id), (known) => known && messages.reduce(withMessage, known));
    if (messages.some(changesSession)) refresh();
    if (messages.some((message) => message.type === "chat.message" || message.type === "subscription.confirmed")) {
      void refetchChanged(client, chatKey(id));
    }
    if (messages.some(changesNotes)) void refetchChanged(client, notesKey(id));
  };
  const feed = useSessionTimeline(id, loadTimeline, heard);
  return { session, feed };
}
