/** Actions on the selected incidents: investigating and resolving them. */
import Button from "@mui/material/Button";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { CircleCheck, Search, X } from "lucide-react";
import { useState } from "react";
import { incidentKeys, investigate, resolveIncident } from "@/api/incidents";
import { refetchChanged } from "@/api/refetch";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { plural } from "@/components/format";
import { Failure } from "@/components/states";
import { Allowed } from "@/presentation/allowed";
import { hasEnded } from "@/presentation/statuses";
import type { IncidentItem } from "@/wire/types";

const ACTIONS = {
  investigate: { title: "Investigate", text: "Each of them is investigated, or investigated again.", failure: "Not all of them are investigated.", act: investigate },
  resolve: { title: "Resolve", text: "Waiting investigations of them are cancelled. An incident whose alerts fire again is opened again.", failure: "Not all of them are resolved.", act: resolveIncident },
} as const;
type Action = keyof typeof ACTIONS;

export function SelectedActions({ selected, onClear }: { selected: readonly IncidentItem[]; onClear: () => void }) {
  const [action, setAction] = useState<Action | null>(null);
  const client = useQueryClient();
  const fitting = {
    investigate: selected.filter(({ last_session_status: status }) => status === null || hasEnded(status)),
    resolve: selected.filter(({ resolved_at: resolved }) => resolved === null),
  };
  const act = useMutation({
    mutationFn: async (wanted: Action) => {
      for (const { id } of fitting[wanted]) await ACTIONS[wanted].act(id);
    },
    onSuccess: () => {
      setAction(null);
      onClear();
    },
    onSettled: () => refetchChanged(client, incidentKeys.all),
  });
  const close = () => {
    setAction(null);
    // The next dialog may be about the other action.
    act.reset();
  };
  if (selected.length === 0) return null;
  const { title, text, failure } = ACTIONS[action ?? "resolve"];
  const count = fitting[action ?? "resolve"].length;
  return (
    <Paper component="section" aria-label="Selected incidents" variant="outlined" sx={{ position: "sticky", bottom: 12, zIndex: 3, display: "flex", alignItems: "center", flexWrap: "wrap", gap: 1, px: 2, py: 1, boxShadow: 6 }}>
      <Typography variant="body2" role="status" sx={{ fontWeight: 600, mr: 1 }}>
        {plural(selected.length, "incident")} selected
      </Typography>
      <Allowed operation="investigateIncident">
        <Button size="small" startIcon={<Search size={15} />} disabled={fitting.investigate.length === 0} onClick={() => setAction("investigate")}>
          Investigate {fitting.investigate.length > 0 && fitting.investigate.length.toLocaleString()}
        </Button>
      </Allowed>
      <Allowed operation="resolveIncident">
        <Button size="small" startIcon={<CircleCheck size={15} />} disabled={fitting.resolve.length === 0} onClick={() => setAction("resolve")}>
          Resolve {fitting.resolve.length > 0 && fitting.resolve.length.toLocaleString()}
        </Button>
      </Allowed>
      <Button size="small" color="inherit" startIcon={<X size={15} />} onClick={onClear}>
        Clear
      </Button>
      <ConfirmDialog
        open={action !== null}
        title={`${title} ${plural(count, "incident")}?`}
        text={text}
        keep="Cancel"
        onClose={close}
        actions={
          <Button variant="contained" loading={act.isPending} onClick={() => action && act.mutate(action)}>
            {title} {plural(count, "incident")}
          </Button>
        }
      >
        {act.error && <Failure what={failure} error={act.error} />}
      </ConfirmDialog>
    </Paper>
  );
}
