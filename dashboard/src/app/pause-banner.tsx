/** Says on every page that work is paused, since when and why, and lets it go on. */
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CirclePause } from "lucide-react";
import { pauses, resume } from "@/api/system";
import { RelativeTime } from "@/components/times";
import { useChannel } from "@/live/connection";
import type { PauseItem } from "@/wire/types";

export function PauseBanner() {
  const client = useQueryClient();
  const { data } = useQuery(pauses);
  useChannel("sessions", (message) => {
    if (message.type === "pauses.changed") client.setQueryData(pauses.queryKey, { pauses: message.pauses });
    if (message.type === "catchup.overflow") void client.invalidateQueries({ queryKey: pauses.queryKey });
  });
  const goOn = useMutation({ mutationFn: resume, onSuccess: (now) => client.setQueryData(pauses.queryKey, now) });
  return (data?.pauses ?? []).map((pause) => <Paused key={pause.chain_id ?? ""} pause={pause} busy={goOn.isPending} error={goOn.error} onResume={() => goOn.mutate(pause.chain_id)} />);
}

function Paused({ pause, busy, error, onResume }: { pause: PauseItem; busy: boolean; error: Error | null; onResume: () => void }) {
  return (
    <Alert
      severity="warning"
      square
      role="status"
      icon={<CirclePause size={20} aria-hidden />}
      action={
        <Button color="inherit" size="small" loading={busy} onClick={onResume} aria-label={pause.chain_id === null ? "Resume all work" : `Resume the chain ${pause.chain_id}`} sx={{ whiteSpace: "nowrap" }}>
          Resume
        </Button>
      }
      sx={{ py: 0, alignItems: "center", overflowWrap: "anywhere" }}
    >
      {pause.chain_id === null ? "All work is paused" : `The chain ${pause.chain_id} is paused`} by {pause.actor} since <RelativeTime at={pause.since} />
      {pause.reason && `: ${pause.reason}`}. Alerts are taken and wait.{error && ` It could not be resumed: ${error.message}`}
    </Alert>
  );
}
