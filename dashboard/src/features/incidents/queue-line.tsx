/** How much is being looked into and how much waits: one line, and the way to the sessions, where a storm is seen and ended. */
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { queue } from "@/api/system";
import { TextLink } from "@/components/links";
import { RelativeTime } from "@/components/times";

export function QueueLine() {
  const { data } = useQuery(queue);
  if (!data || data.running + data.pending + data.waiting === 0) return null;
  return (
    <Typography variant="body2" color="textSecondary" role="status">
      {data.running.toLocaleString()} running, {data.pending.toLocaleString()} in the queue
      {data.waiting > 0 && `, ${data.waiting.toLocaleString()} waiting`}
      {data.oldest_pending_at && (
        <>
          , the oldest since <RelativeTime at={data.oldest_pending_at} />
        </>
      )}
      .{" "}
      <TextLink to="/sessions" search={{}}>
        Sessions
      </TextLink>
    </Typography>
  );
}
