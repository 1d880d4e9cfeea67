/** Keeps the incidents current while they are shown. */
import type { QueryKey } from "@tanstack/react-query";
import { useQueryClient } from "@tanstack/react-query";
import { refetchChanged } from "@/api/refetch";
import { useThrottled } from "@/components/use-throttled";
import { useChannel } from "@/live/connection";

// An alert storm must not become a storm of requests.
const REFRESH_EVERY_MS = 2_000;

export function useLiveIncidents(queryKey: QueryKey): void {
  const client = useQueryClient();
  const refresh = useThrottled(() => void refetchChanged(client, queryKey), REFRESH_EVERY_MS);
  useChannel("incidents", (message) => {
    if (message.type === "incident.changed" || message.type === "subscription.confirmed" || message.type === "catchup.overflow") refresh();
  });
}
