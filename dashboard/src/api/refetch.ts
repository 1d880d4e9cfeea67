/** Asking for something again because it is known to have changed. */
import type { QueryClient, QueryKey } from "@tanstack/react-query";

/** The answer shown in the end was asked for after this call: one that was under way already may be older than the change. */
export async function refetchChanged(client: QueryClient, queryKey: QueryKey): Promise<void> {
  // Not cancelled: a server that needs longer than changes are apart would never get to answer.
  const wait = { cancelRefetch: false };
  if (client.isFetching({ queryKey }) > 0) await client.refetchQueries({ queryKey, type: "active" }, wait);
  await client.invalidateQueries({ queryKey }, wait);
}
