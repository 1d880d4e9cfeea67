/** The queue, and the workers of this process. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CirclePause } from "lucide-react";
import { useState } from "react";
import { pauseAll, pauses, queue } from "@/api/system";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { TextLink } from "@/components/links";
import { Fact } from "@/components/section";
import { Failure, Loading } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { Elapsed, RelativeTime } from "@/components/times";
import { Allowed } from "@/presentation/allowed";

/** Pauses all work; the pause banner has the button that resumes it. */
function PauseButton() {
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  const pause = useMutation({
    mutationFn: (now: boolean) => pauseAll(reason.trim(), now),
    onSuccess: (current) => {
      client.setQueryData(pauses.queryKey, current);
      void client.invalidateQueries({ queryKey: queue.queryKey });
      setAsking(false);
    },
  });
  return (
    <>
      <Allowed operation="pause">
        <Button size="small" color="warning" variant="outlined" startIcon={<CirclePause size={15} />} onClick={() => setAsking(true)}>
          Pause all work
        </Button>
      </Allowed>
      <ConfirmDialog
        open={asking}
        title="Pause all work?"
        text="Alerts are still accepted, but wait. Running sessions finish, or are parked and continue after the pause."
        keep="Cancel"
        onClose={() => setAsking(false)}
        actions={
          <>
            <Button loading={pause.isPending} onClick={() => pause.mutate(true)}>
              Pause and park running sessions
            </Button>
            <Button variant="contained" loading={pause.isPending} onClick={() => pause.mutate(false)}>
              Pause
            </Button>
          </>
        }
      >
        <TextField fullWidth size="small" label="Reason" value={reason} onChange={(event) => setReason(event.target.value)} />
        {pause.error && <Failure what="It could not be paused." error={pause.error} />}
      </ConfirmDialog>
    </>
  );
}

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
        <Fact name="Queued">
          {data.pending}
          {data.max_queue_size !== null && ` of ${data.max_queue_size}`}
        </Fact>
        {data.waiting > 0 && <Fact name="Waiting">{data.waiting}</Fact>}
        {data.oldest_pending_at && (
          <Fact name="Oldest queued since">
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
      {data.pauses.every(({ chain_id: chain }) => chain !== null) && (
        <Box>
          <PauseButton />
        </Box>
      )}
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
