/** What can be done to the sessions that are marked, all of them at once. */
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogContentText from "@mui/material/DialogContentText";
import DialogTitle from "@mui/material/DialogTitle";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Ban, Download, Trash2, X } from "lucide-react";
import { useState } from "react";
import { refetchChanged } from "@/api/refetch";
import { ACTIVE, cancelSessions, deleteSessions, exportAddress, sessionKeys } from "@/api/sessions";
import { plural } from "@/components/format";
import { Failure } from "@/components/states";
import { hasEnded } from "@/presentation/statuses";
import type { SessionListItem } from "@/wire/types";

type Deed = "cancel" | "delete";
const WORDS = {
  cancel: { ask: "Cancel", keep: "Keep them", go: "Cancel them", told: "They are stopped; what they found so far is kept.", failed: "They could not all be cancelled." },
  delete: { ask: "Delete", keep: "Keep them", go: "Delete them", told: "No page shows them any more. The audit log keeps who deleted them.", failed: "They could not be deleted." },
} satisfies Record<Deed, object>;

// As many as the server takes in one request.
const AT_ONCE = 200;

export function MarkedActions({ marked, onClear }: { marked: readonly SessionListItem[]; onClear: () => void }) {
  const [deed, setDeed] = useState<Deed | null>(null);
  const client = useQueryClient();
  const running = marked.filter((session) => !hasEnded(session.status)).map(({ id }) => id);
  const ended = marked.filter((session) => hasEnded(session.status)).map(({ id }) => id);
  const act = useMutation({
    mutationFn: async (wanted: Deed) => {
      for (const ids of inPortions(wanted === "cancel" ? running : ended)) {
        await (wanted === "cancel" ? cancelSessions({ id: ids, status: ACTIVE }) : deleteSessions(ids));
      }
    },
    onSuccess: () => {
      setDeed(null);
      onClear();
    },
    onSettled: () => refetchChanged(client, sessionKeys.all),
  });
  if (marked.length === 0) return null;
  const about = deed === "delete" ? ended : running;
  return (
    <Paper component="section" aria-label="Selected sessions" variant="outlined" sx={{ position: "sticky", bottom: 12, zIndex: 3, display: "flex", alignItems: "center", flexWrap: "wrap", gap: 1, px: 2, py: 1, boxShadow: 6 }}>
      <Typography variant="body2" role="status" sx={{ fontWeight: 600, mr: 1 }}>
        {plural(marked.length, "session")} selected
      </Typography>
      <Button size="small" color="error" startIcon={<Ban size={15} />} disabled={running.length === 0} onClick={() => setDeed("cancel")}>
        Cancel {running.length > 0 && running.length.toLocaleString()}
      </Button>
      <Button size="small" color="error" startIcon={<Trash2 size={15} />} disabled={ended.length === 0} onClick={() => setDeed("delete")}>
        Delete {ended.length > 0 && ended.length.toLocaleString()}
      </Button>
      <Button size="small" startIcon={<Download size={15} />} href={exportAddress(marked.slice(0, AT_ONCE).map(({ id }) => id))} download>
        {marked.length > AT_ONCE ? `Export the first ${AT_ONCE}` : "Export"}
      </Button>
      <Button size="small" color="inherit" startIcon={<X size={15} />} onClick={onClear}>
        Clear
      </Button>
      <Dialog open={deed !== null} onClose={() => setDeed(null)}>
        <DialogTitle>
          {WORDS[deed ?? "cancel"].ask} {plural(about.length, "session")}?
        </DialogTitle>
        <DialogContent>
          <DialogContentText>{WORDS[deed ?? "cancel"].told}</DialogContentText>
          {act.error && <Failure what={WORDS[deed ?? "cancel"].failed} error={act.error} />}
        </DialogContent>
        <DialogActions>
          <Button onClick={() => setDeed(null)}>{WORDS[deed ?? "cancel"].keep}</Button>
          <Button color="error" variant="contained" loading={act.isPending} onClick={() => deed && act.mutate(deed)}>
            {WORDS[deed ?? "cancel"].go}
          </Button>
        </DialogActions>
      </Dialog>
    </Paper>
  );
}

function inPortions(ids: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(ids.length / AT_ONCE) }, (_, index) => ids.slice(index * AT_ONCE, (index + 1) * AT_ONCE));
}
