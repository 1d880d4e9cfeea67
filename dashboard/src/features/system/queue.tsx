/** The queue, and what each worker of this process is doing. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { queue } from "@/api/system";
import { MONO } from "@/components/text-styles";
import { TextLink } from "@/components/links";
import { Fact } from "@/components/section";
import { Failure, Loading } from "@/components/states";
import { Elapsed, RelativeTime } from "@/components/times";

export function Queue() {
  const { data, error, refetch } = useQuery(queue);
  if (error) return <Failure what="The queue could not be loaded." error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading what="the queue" />;
  const pods = Object.entries(data.running_by_pod);
  return (
    <Stack spacing={1.5}>
      <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: 4, rowGap: 1, m: 0 }}>
        <Fact name="Running">
          {data.running} of {data.max_concurrent_sessions}
        </Fact>
        <Fact name="Waiting">
          {data.pending}
          {data.max_queue_size !== null && ` of ${data.max_queue_size}`}
        </Fact>
        {data.oldest_pending_at && (
          <Fact name="Oldest waiting since">
            <RelativeTime at={data.oldest_pending_at} />
          </Fact>
        )}
        <Fact name="This process">
          <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.8rem" }}>
            {data.pod_id}
          </Box>
        </Fact>
        {pods.length > 1 && <Fact name="Running by process">{pods.map(([pod, count]) => `${pod}: ${count}`).join(", ")}</Fact>}
      </Box>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {data.workers.map((worker) => (
          <Typography component="li" variant="body2" key={worker.name} sx={{ display: "flex", gap: 2, py: 0.4, borderTop: 1, borderColor: "divider" }}>
            <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.8rem", width: 110 }}>
              {worker.name}
            </Box>
            {worker.session_id ? (
              <span>
                <TextLink to="/sessions/$sessionId" params={{ sessionId: worker.session_id }}>
                  session {worker.session_id.slice(0, 8)}
                </TextLink>
                {worker.busy_since && (
                  <>
                    {" for "}
                    <Elapsed since={worker.busy_since} until={null} />
                  </>
                )}
              </span>
            ) : (
              <Box component="span" sx={{ color: "text.secondary" }}>
                idle
              </Box>
            )}
          </Typography>
        ))}
      </Box>
    </Stack>
  );
}
