/** Refetching queries whose data has changed on the server. */
import type { QueryClient, QueryKey } from "@tanstack/react-query";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useEffectEvent, useRef } from "react";

/** Resolves when a response is shown that was requested after this call: a request already in flight may be older than the change. */
export async function refetchChanged(client: QueryClient, queryKey: QueryKey): Promise<void> {
  // In-flight requests are not cancelled: with changes in quick succession a slow server would never finish one.
  const options = { cancelRefetch: false };
  if (client.isFetching({ queryKey }) > 0) await client.refetchQueries({ queryKey, type: "active" }, options);
  await client.invalidateQueries({ queryKey }, options);
}

/** Returns a function that refetches the queries, at most every `everyMs`. A call during the pause is carried out at its end. */
export function useThrottledRefetch(queryKeys: readonly QueryKey[], everyMs: number): () => void {
  const client = useQueryClient();
  const refetch = useEffectEvent(() => {
    for (const queryKey of queryKeys) void refetchChanged(client, queryKey);
  });
  const request = useRef<() => void>(() => undefined);
  useEffect(() => {
    // `performance.now` rather than the time of day, which may be set back.
    let last = -everyMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = () => {
      timer = undefined;
      last = performance.now();
      refetch();
    };
    request.current = () => {
      timer ??= setTimeout(run, Math.max(0, last + everyMs - performance.now()));
    };
    return () => clearTimeout(timer);
  }, [everyMs]);
  return useCallback(() => request.current(), []);
}
