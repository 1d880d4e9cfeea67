import type { SessionDetail, TimelineEvent } from "@/wire/types";
export function ChatPanel(_: { session: SessionDetail; events: readonly TimelineEvent[] }) {
  return null;
}
