/** Actions on many sessions: cancelling all that match the filters, and cancelling, deleting or exporting the selected ones. */
import Button from "@mui/material/Button";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ban, Download, Trash2 } from "lucide-react";
import { useState } from "react";
import { refetchChanged } from "@/api/refetch";
import type { SessionFilter } from "@/api/sessions";
import { cancelSessions, deleteSessions, exportAddress, sessionKeys } from "@/api/sessions";
import { queue } from "@/api/system";
import { ActionDialog } from "@/components/confirm-dialog";
import { Allowed } from "@/presentation/allowed";
import { SelectionBar } from "@/presentation/selection-bar";
import { ACTIVE_STATUSES, hasEnded } from "@/presentation/statuses";
import type { SessionListItem, SessionStatus } from "@/wire/types";

interface CancelMatchingProps {
  filter: SessionFilter;
  filtered: boolean;
  statuses: SessionStatus[];
}

/** Cancels every matching session that has not ended, whether it is listed or not. */
export function CancelMatching(props: CancelMatchingProps) {
  const [dialogOpen, setDialogOpen] = useState(false);
  return (
    <>
      <Allowed operation="cancelSessions">
        <Button size="small" color="error" startIcon={<Ban size={15} />} onClick={() => setDialogOpen(true)}>
          {props.filtered ? "Cancel matching" : "Cancel all"}
        </Button>
      </Allowed>
      {dialogOpen && <CancelMatchingDialog {...props} onClose={() => setDialogOpen(false)} />}
    </>
  );
}

function CancelMatchingDialog({ filter, filtered, statuses, onClose }: CancelMatchingProps & { onClose: () => void }) {
  const client = useQueryClient();
  const { data } = useQuery(queue);
  const cancel = useMutation({
    mutationFn: () => cancelSessions({ ...filter, status: statuses.length > 0 ? statuses : ACTIVE_STATUSES }),
    onSuccess: () => void refetchChanged(client, sessionKeys.all),
  });
  return (
    <ActionDialog
      title={filtered ? "Cancel every session that matches?" : "Cancel every session?"}
      text={
        <>
          {data && `In all ${data.running.toLocaleString()} run, ${data.pending.toLocaleString()} are in the queue and ${data.waiting.toLocaleString()} wait. `}
          {filtered ? "All sessions that match the filters are stopped, also those on other pages. What they found so far is kept." : "All of them are stopped; what they found so far is kept."}
        </>
      }
      cancelLabel="Keep them"
      onClose={onClose}
      mutation={cancel}
      label="Cancel them"
      failure="They could not all be cancelled."
      destructive
    />
  );
}

// The server's limit for one request.
const MAX_BATCH = 200;

export function SelectedActions({ selected, onClear }: { selected: readonly SessionListItem[]; onClear: () => void }) {
  const idsOf = (ended: boolean) => selected.filter(({ status }) => hasEnded(status) === ended).map(({ id }) => id);
  return (
    <SelectionBar
      noun="session"
      count={selected.length}
      queryKey={sessionKeys.all}
      onClear={onClear}
      actions={[
        {
          label: "Cancel",
          icon: <Ban size={15} />,
          operation: "cancelSessions",
          ids: idsOf(false),
          run: (ids) => inBatches(ids, (id) => cancelSessions({ id, status: ACTIVE_STATUSES })),
          text: "They are stopped; what they found so far is kept.",
          confirmLabel: "Cancel them",
          cancelLabel: "Keep them",
          failure: "They could not all be cancelled.",
          destructive: true,
        },
        {
          label: "Delete",
          icon: <Trash2 size={15} />,
          operation: "deleteSessions",
          ids: idsOf(true),
          run: (ids) => inBatches(ids, deleteSessions),
          text: "They disappear from all pages. The audit log records who deleted them.",
          confirmLabel: "Delete them",
          cancelLabel: "Keep them",
          failure: "They could not be deleted.",
          destructive: true,
        },
      ]}
    >
      <Button size="small" startIcon={<Download size={15} />} href={exportAddress(selected.slice(0, MAX_BATCH).map(({ id }) => id))} download>
        {selected.length > MAX_BATCH ? `Export the first ${MAX_BATCH}` : "Export"}
      </Button>
    </SelectionBar>
  );
}

async function inBatches(ids: readonly string[], run: (ids: string[]) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < ids.length; start += MAX_BATCH) await run(ids.slice(start, start + MAX_BATCH));
}
