/** The thin hook around `SessionFeed`. */
import { useEffect, useEffectEvent, useMemo, useSyncExternalStore } from "react";
import type { LiveMessage } from "@/wire/live-messages";
import { useSocket } from "./connection";
import type { FeedState, LoadedTimeline } from "./session-feed";
import { SessionFeed } from "./session-feed";

export function useSessionTimeline(
  sessionId: string,
  load: (sessionId: string) => Promise<LoadedTimeline>,
  heard: (messages: readonly LiveMessage[]) => void,
): FeedState {
  const socket = useSocket();
  const onHeard = useEffectEvent(heard);
  const feed = useMemo(() => new SessionFeed(socket, sessionId, () => load(sessionId)), [socket, sessionId, load]);
  useEffect(() => feed.start((messages) => onHeard(messages)), [feed]);
  return useSyncExternalStore(feed.observe, feed.snapshot);
}
