/** Actions on many sessions: cancelling all that match the filters, and cancelling, deleting or exporting the selected ones. */
import Button from "@mui/material/Button";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ban, Download, Trash2, X } from "lucide-react";
import { useState } from "react";
import { refetchChanged } from "@/api/refetch";
import type { SessionFilter } from "@/api/sessions";
import { cancelSessions, deleteSessions, exportAddress, sessionKeys } from "@/api/sessions";
import { queue } from "@/api/system";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { plural } from "@/components/format";
import { Failure } from "@/components/states";
import { Allowed } from "@/presentation/allowed";
import { ACTIVE_STATUSES, hasEnded } from "@/presentation/statuses";
import type { SessionListItem, SessionStatus } from "@/wire/types";

interface CancelMatchingProps {
  filter: SessionFilter;
  filtered: boolean;
  statuses: SessionStatus[];
}

/** Cancels every matching session that has not ended, whether it is listed or not. */
export function CancelMatching({ filter, filtered, statuses }: CancelMatchingProps) {
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const close = () => setAsking(false);
  const cancel = useMutation({
    mutationFn: () => cancelSessions({ ...filter, status: statuses.length > 0 ? statuses : ACTIVE_STATUSES }),
    onSuccess: () => {
      close();
      return refetchChanged(client, sessionKeys.all);
    },
  });
  return (
    <>
      <Allowed operation="cancelSessions">
        <Button size="small" color="error" startIcon={<Ban size={15} />} onClick={() => setAsking(true)}>
          {filtered ? "Cancel matching" : "Cancel all"}
        </Button>
      </Allowed>
      <ConfirmDialog
        open={asking}
        title={filtered ? "Cancel every session that matches?" : "Cancel every session?"}
        text={<CancelMatchingText filtered={filtered} />}
        keep="Keep them"
        onClose={close}
        actions={
          <Button color="error" variant="contained" loading={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel them
          </Button>
        }
      >
        {cancel.error && <Failure what="They could not all be cancelled." error={cancel.error} />}
      </ConfirmDialog>
    </>
  );
}

function CancelMatchingText({ filtered }: { filtered: boolean }) {
  const { data } = useQuery(queue);
  return (
    <>
      {data && `In all ${data.running.toLocaleString()} run, ${data.pending.toLocaleString()} are in the queue and ${data.waiting.toLocaleString()} wait. `}
      {filtered ? "All sessions that match the filters are stopped, also those on other pages. What they found so far is kept." : "All of them are stopped; what they found so far is kept."}
    </>
  );
}

const ACTIONS = {
  cancel: { title: "Cancel", confirm: "Cancel them", text: "They are stopped; what they found so far is kept.", failure: "They could not all be cancelled." },
  delete: { title: "Delete", confirm: "Delete them", text: "They disappear from all pages. The audit log records who deleted them.", failure: "They could not be deleted." },
};
type Action = keyof typeof ACTIONS;

// The server's limit for one request.
const AT_ONCE = 200;

export function SelectedActions({ selected, onClear }: { selected: readonly SessionListItem[]; onClear: () => void }) {
  const [action, setAction] = useState<Action | null>(null);
  const client = useQueryClient();
  const running = selected.filter((session) => !hasEnded(session.status)).map(({ id }) => id);
  const ended = selected.filter((session) => hasEnded(session.status)).map(({ id }) => id);
  const idsOf = (wanted: Action | null) => (wanted === "delete" ? ended : running);
  const act = useMutation({
    mutationFn: async (wanted: Action) => {
      const ids = idsOf(wanted);
      for (let start = 0; start < ids.length; start += AT_ONCE) {
        const batch = ids.slice(start, start + AT_ONCE);
        await (wanted === "cancel" ? cancelSessions({ id: batch, status: ACTIVE_STATUSES }) : deleteSessions(batch));
      }
    },
    onSuccess: () => {
      setAction(null);
      onClear();
    },
    onSettled: () => refetchChanged(client, sessionKeys.all),
  });
  const close = () => {
    setAction(null);
    // The next dialog may be about the other action.
    act.reset();
  };
  if (selected.length === 0) return null;
  const { title, confirm, text, failure } = ACTIONS[action ?? "cancel"];
  return (
    <Paper component="section" aria-label="Selected sessions" variant="outlined" sx={{ position: "sticky", bottom: 12, zIndex: 3, display: "flex", alignItems: "center", flexWrap: "wrap", gap: 1, px: 2, py: 1, boxShadow: 6 }}>
      <Typography variant="body2" role="status" sx={{ fontWeight: 600, mr: 1 }}>
        {plural(selected.length, "session")} selected
      </Typography>
      <Allowed operation="cancelSessions">
        <Button size="small" color="error" startIcon={<Ban size={15} />} disabled={running.length === 0} onClick={() => setAction("cancel")}>
          Cancel {running.length > 0 && running.length.toLocaleString()}
        </Button>
      </Allowed>
      <Allowed operation="deleteSessions">
        <Button size="small" color="error" startIcon={<Trash2 size={15} />} disabled={ended.length === 0} onClick={() => setAction("delete")}>
          Delete {ended.length > 0 && ended.length.toLocaleString()}
        </Button>
      </Allowed>
      <Button size="small" startIcon={<Download size={15} />} href={exportAddress(selected.slice(0, AT_ONCE).map(({ id }) => id))} download>
        {selected.length > AT_ONCE ? `Export the first ${AT_ONCE}` : "Export"}
      </Button>
      <Button size="small" color="inherit" startIcon={<X size={15} />} onClick={onClear}>
        Clear
      </Button>
      <ConfirmDialog
        open={action !== null}
        title={`${title} ${plural(idsOf(action).length, "session")}?`}
        text={text}
        keep="Keep them"
        onClose={close}
        actions={
          <Button color="error" variant="contained" loading={act.isPending} onClick={() => action && act.mutate(action)}>
            {confirm}
          </Button>
        }
      >
        {act.error && <Failure what={failure} error={act.error} />}
      </ConfirmDialog>
    </Paper>
  );
}
