/** Ends a storm: cancels whatever fits the filters and has not ended, however much of it is listed. */
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogContentText from "@mui/material/DialogContentText";
import DialogTitle from "@mui/material/DialogTitle";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ban } from "lucide-react";
import { useState } from "react";
import { refetchChanged } from "@/api/refetch";
import type { SessionFilter } from "@/api/sessions";
import { ACTIVE, cancelSessions, sessionKeys } from "@/api/sessions";
import { queue } from "@/api/system";
import { Failure } from "@/components/states";
import type { SessionStatus } from "@/wire/types";

interface CancelMatchingProps {
  filter: SessionFilter;
  /** Whether the filters leave anything out. */
  filtered: boolean;
  statuses: SessionStatus[];
}

export function CancelMatching({ filter, filtered, statuses }: CancelMatchingProps) {
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const cancel = useMutation({
    mutationFn: () => cancelSessions({ ...filter, status: statuses.length > 0 ? statuses : ACTIVE }),
    onSuccess: () => {
      setAsking(false);
      return refetchChanged(client, sessionKeys.all);
    },
  });
  const close = () => setAsking(false);
  return (
    <>
      <Button size="small" color="error" startIcon={<Ban size={15} />} onClick={() => setAsking(true)}>
        {filtered ? "Cancel matching" : "Cancel all"}
      </Button>
      <Dialog open={asking} onClose={close}>
        <DialogTitle>{filtered ? "Cancel every session that matches?" : "Cancel every session?"}</DialogTitle>
        <DialogContent>
          <Question filtered={filtered} />
          {cancel.error && <Failure what="They could not all be cancelled." error={cancel.error} />}
        </DialogContent>
        <DialogActions>
          <Button onClick={close}>Keep them</Button>
          <Button color="error" variant="contained" loading={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel them
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}

function Question({ filtered }: { filtered: boolean }) {
  const { data } = useQuery(queue);
  const all = data ? `In all ${data.running.toLocaleString()} run, ${data.pending.toLocaleString()} are in the queue and ${data.waiting.toLocaleString()} wait. ` : "";
  return (
    <DialogContentText>
      {all}
      {filtered ? "Those that fit the filters are stopped, listed or not; what they found so far is kept." : "All of them are stopped; what they found so far is kept."}
    </DialogContentText>
  );
}
