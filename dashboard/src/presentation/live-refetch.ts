/** Queries whose data live messages are about. A message only says that something has changed: as messages and answers overtake each other, the server's answer to a later request is what counts. */
import type { QueryKey } from "@tanstack/react-query";
import { useThrottledRefetch } from "@/api/refetch";
import { useChannel } from "@/live/connection";
import type { LiveMessage } from "@/wire/live-messages";
import { mayFollowGap } from "@/wire/live-messages";

// Limits requests during an alert storm, and when many sessions end at once.
const REFETCH_EVERY_MS = 1_000;

/** Refetches the queries after messages that change them, and where such messages may have been missed. Returns the function that refetches. */
export function useLiveRefetch(channel: string, changes: (message: LiveMessage) => boolean, queryKeys: readonly QueryKey[], everyMs = REFETCH_EVERY_MS): () => void {
  const refetch = useThrottledRefetch(queryKeys, everyMs);
  useChannel(channel, (message) => {
    if (changes(message) || mayFollowGap(message)) refetch();
  });
  return refetch;
}
