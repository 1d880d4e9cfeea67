/** Keeps the lists of sessions current while they are shown. */
import type { InfiniteData } from "@tanstack/react-query";
import { useQueryClient } from "@tanstack/react-query";
import { refetchChanged } from "@/api/refetch";
import { sessionKeys } from "@/api/sessions";
import { useThrottled } from "@/components/use-throttled";
import { useChannel } from "@/live/connection";
import type { LiveMessage } from "@/wire/live-messages";
import type { SessionList } from "@/wire/types";
import { changesList, withMessage } from "./live-list";

// An alert storm must not become a storm of requests.
const REFRESH_EVERY_MS = 1_000;

/** The same object where nothing changed: most of what is told in an alert storm is not on the page. */
function inPages(data: InfiniteData<SessionList>, message: LiveMessage): InfiniteData<SessionList> {
  const pages = data.pages.map((page) => withMessage(page, message));
  return pages.some((page, index) => page !== data.pages[index]) ? { ...data, pages } : data;
}

export function useLiveList(): void {
  const client = useQueryClient();
  const refresh = useThrottled(() => void refetchChanged(client, sessionKeys.all), REFRESH_EVERY_MS);
  useChannel("sessions", (message) => {
    client.setQueriesData<SessionList>({ queryKey: ["sessions", "active"] }, (list) => list && withMessage(list, message));
    client.setQueriesData<InfiniteData<SessionList>>(
      { queryKey: ["sessions", "list"] },
      (data) => data && inPages(data, message),
    );
    if (changesList(message)) refresh();
  });
}
