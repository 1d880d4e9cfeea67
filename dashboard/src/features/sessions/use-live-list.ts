/** Keeps the lists of sessions current while they are shown. */
import { useQueryClient } from "@tanstack/react-query";
import { refetchChanged } from "@/api/refetch";
import { sessionKeys } from "@/api/sessions";
import { useThrottled } from "@/components/use-throttled";
import { useChannel } from "@/live/connection";
import type { SessionList } from "@/wire/types";
import { changesList, withMessage } from "./live-list";

// An alert storm must not become a storm of requests.
const REFRESH_EVERY_MS = 1_000;

export function useLiveList(): void {
  const client = useQueryClient();
  const refresh = useThrottled(() => void refetchChanged(client, sessionKeys.all), REFRESH_EVERY_MS);
  useChannel("sessions", (message) => {
    for (const list of ["active", "list"]) {
      // The same object where nothing changed: most of what is told in an alert storm is not on the page.
      client.setQueriesData<SessionList>({ queryKey: ["sessions", list] }, (known) => known && withMessage(known, message));
    }
    if (changesList(message)) refresh();
  });
}
