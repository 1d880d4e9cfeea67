/** Times: relative, with the exact one on hover. */
import { formatDuration, formatExact, formatRelative } from "./format";
import { useNow } from "./now";

export function RelativeTime({ at }: { at: string }) {
  const now = useNow();
  const moment = new Date(at);
  return (
    <time dateTime={at} title={formatExact(moment)}>
      {formatRelative(moment, now)}
    </time>
  );
}

/** How long something took, or has been taking so far. */
export function Elapsed({ since, until }: { since: string; until: string | null }) {
  return until === null ? <Running since={since} /> : <>{formatDuration(Date.parse(until) - Date.parse(since))}</>;
}

function Running({ since }: { since: string }) {
  const now = useNow();
  // Whole seconds: a figure that changes must not change its width ten times a second.
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(since)) / 1_000));
  return <>{seconds < 10 ? `${seconds} s` : formatDuration(seconds * 1_000)}</>;
}
