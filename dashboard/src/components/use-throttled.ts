/** Runs something soon, but not more often than every so often; the last request is never lost. */
import { useCallback, useEffect, useEffectEvent, useRef } from "react";

export function useThrottled(action: () => void, everyMs: number): () => void {
  const act = useEffectEvent(action);
  const request = useRef<() => void>(() => undefined);
  useEffect(() => {
    // Not by the time of day, which may be set back.
    let last = -everyMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = () => {
      timer = undefined;
      last = performance.now();
      act();
    };
    request.current = () => {
      timer ??= setTimeout(run, Math.max(0, last + everyMs - performance.now()));
    };
    return () => clearTimeout(timer);
  }, [everyMs]);
  return useCallback(() => request.current(), []);
}
