/** The queue, and the workers of this process. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CirclePause } from "lucide-react";
import { useState } from "react";
import { refetchChanged } from "@/api/refetch";
import { pauseAll, queue } from "@/api/system";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { TextLink } from "@/components/links";
import { Fact } from "@/components/section";
import { Failure, Loaded } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { Elapsed, RelativeTime } from "@/components/times";
import { Allowed } from "@/presentation/allowed";
import type { WorkerItem } from "@/wire/types";

/** Pauses all work; the pause banner has the button that resumes it. */
function PauseButton() {
  const [dialogOpen, setDialogOpen] = useState(false);
  return (
    <Box>
      <Allowed operation="pause">
        <Button size="small" color="warning" variant="outlined" startIcon={<CirclePause size={15} />} onClick={() => setDialogOpen(true)}>
          Pause all work
        </Button>
      </Allowed>
      {dialogOpen && <PauseDialog onClose={() => setDialogOpen(false)} />}
    </Box>
  );
}

function PauseDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const pause = useMutation({
    mutationFn: (now: boolean) => pauseAll(reason.trim(), now),
    onSuccess: () => refetchChanged(client, queue.queryKey),
  });
  const onSuccess = onClose;
  return (
    <ConfirmDialog
      title="Pause all work?"
      text="Alerts are still accepted, but wait. Running sessions finish, or are parked and continue after the pause."
      onClose={onClose}
      failure={pause.error && <Failure what="It could not be paused." error={pause.error} />}
      actions={
        <>
          <Button loading={pause.isPending} onClick={() => pause.mutate(true, { onSuccess })}>
            Pause and park running sessions
          </Button>
          <Button variant="contained" loading={pause.isPending} onClick={() => pause.mutate(false, { onSuccess })}>
            Pause
          </Button>
        </>
      }
    >
      <TextField fullWidth size="small" label="Reason" value={reason} onChange={(event) => setReason(event.target.value)} />
    </ConfirmDialog>
  );
}

export function Queue() {
  return (
    <Loaded query={useQuery(queue)} what="the queue" failure="The queue could not be loaded.">
      {(data) => {
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
            {data.pauses.every(({ chain_id: chain }) => chain !== null) && <PauseButton />}
            <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
              {data.workers.map((worker) => (
                <Worker key={worker.name} worker={worker} />
              ))}
            </Box>
          </Stack>
        );
      }}
    </Loaded>
  );
}

function Worker({ worker }: { worker: WorkerItem }) {
  return (
    <Typography component="li" variant="body2" sx={{ display: "flex", gap: 2, py: 0.4, borderTop: 1, borderColor: "divider" }}>
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
  );
}
