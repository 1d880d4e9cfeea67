/** What is begun next, where the queue is too long to be listed. */
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { queue } from "@/api/system";
import { TextLink } from "@/components/links";

export function NextUp() {
  const { data } = useQuery(queue);
  if (!data || data.next_sessions.length === 0) return null;
  return (
    <Typography variant="body2" color="textSecondary" role="status" sx={{ overflowWrap: "anywhere" }}>
      {data.running.toLocaleString()} running, {data.pending.toLocaleString()} in the queue. Next:{" "}
      {data.next_sessions.map((next, index) => (
        <Fragment key={next.session_id}>
          {index > 0 && ", "}
          <TextLink to="/sessions/$sessionId" params={{ sessionId: next.session_id }}>
            {next.title}
          </TextLink>
        </Fragment>
      ))}
    </Typography>
  );
}
