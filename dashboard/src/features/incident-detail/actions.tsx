/** The actions of an incident: investigate again, mute, merge another one into it, resolve it. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import List from "@mui/material/List";
import ListItem from "@mui/material/ListItem";
import ListItemButton from "@mui/material/ListItemButton";
import ListItemText from "@mui/material/ListItemText";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import { useMutation, useQuery } from "@tanstack/react-query";
import { BellOff, CircleCheck, Merge, Search } from "lucide-react";
import { useState } from "react";
import { investigate, mergeIncident, muteIncident, openIncidents, resolveIncident } from "@/api/incidents";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { HoursField, SearchBox } from "@/components/fields";
import { plural } from "@/components/format";
import { Failure, Loading, Nothing } from "@/components/states";
import { serverTimeIn } from "@/components/times";
import { Allowed } from "@/presentation/allowed";
import { hasEnded } from "@/presentation/statuses";
import type { IncidentItem, IncidentView } from "@/wire/types";

interface ActionsProps {
  incident: IncidentView;
  onChanged: () => void;
}

export function Actions({ incident, onChanged }: ActionsProps) {
  const [asking, setAsking] = useState<"mute" | "merge" | "resolve" | null>(null);
  const again = useMutation({ mutationFn: () => investigate(incident.id), onSuccess: onChanged });
  const isRunning = incident.sessions.some((session) => !hasEnded(session.status));
  const close = () => setAsking(null);
  const done = () => {
    close();
    onChanged();
  };
  return (
    <Box>
      <Stack direction="row" sx={{ gap: 0.5, flexWrap: "wrap" }}>
        <Allowed operation="investigateIncident">
          <Button size="small" variant="outlined" startIcon={<Search size={15} />} disabled={isRunning} loading={again.isPending} onClick={() => again.mutate()}>
            {incident.sessions.length === 0 ? "Investigate" : "Investigate again"}
          </Button>
        </Allowed>
        <Allowed operation="muteIncident">
          <Button size="small" color="inherit" startIcon={<BellOff size={15} />} onClick={() => setAsking("mute")}>
            Mute
          </Button>
        </Allowed>
        <Allowed operation="mergeIncidents">
          <Button size="small" color="inherit" startIcon={<Merge size={15} />} onClick={() => setAsking("merge")}>
            Merge
          </Button>
        </Allowed>
        {incident.state === "open" && (
          <Allowed operation="resolveIncident">
            <Button size="small" color="inherit" startIcon={<CircleCheck size={15} />} onClick={() => setAsking("resolve")}>
              Resolve
            </Button>
          </Allowed>
        )}
      </Stack>
      {again.error && <Failure what="It could not be investigated." error={again.error} />}
      {asking === "mute" && <MuteDialog incident={incident} onClose={close} onDone={done} />}
      {asking === "merge" && <MergeDialog incident={incident} onClose={close} onDone={done} />}
      {asking === "resolve" && <ResolveDialog incident={incident} onClose={close} onDone={done} />}
    </Box>
  );
}

interface DialogProps {
  incident: IncidentView;
  onClose: () => void;
  onDone: () => void;
}

function MuteDialog({ incident, onClose, onDone }: DialogProps) {
  const [hours, setHours] = useState(4);
  const [reason, setReason] = useState("");
  const mute = useMutation({ mutationFn: () => muteIncident(incident.id, serverTimeIn(hours * 3_600_000), reason.trim()), onSuccess: onDone });
  return (
    <ConfirmDialog
      width="xs"
      title="Mute this incident?"
      text="Until the mute ends, its alerts are recorded but not investigated."
      keep="Cancel"
      onClose={onClose}
      actions={
        <Button variant="contained" loading={mute.isPending} onClick={() => mute.mutate()}>
          Mute
        </Button>
      }
    >
      <HoursField value={hours} onValue={setHours} />
      <TextField size="small" label="Reason" value={reason} onChange={(event) => setReason(event.target.value)} />
      {mute.error && <Failure what="It could not be muted." error={mute.error} />}
    </ConfirmDialog>
  );
}

function ResolveDialog({ incident, onClose, onDone }: DialogProps) {
  const resolve = useMutation({ mutationFn: () => resolveIncident(incident.id), onSuccess: onDone });
  return (
    <ConfirmDialog
      title="Resolve this incident?"
      text="Waiting investigations are cancelled. If an alert fires again, the incident reopens."
      keep="Cancel"
      onClose={onClose}
      actions={
        <Button variant="contained" loading={resolve.isPending} onClick={() => resolve.mutate()}>
          Resolve
        </Button>
      }
    >
      {resolve.error && <Failure what="It could not be resolved." error={resolve.error} />}
    </ConfirmDialog>
  );
}

function MergeDialog({ incident, onClose, onDone }: DialogProps) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<IncidentItem | null>(null);
  const merge = useMutation({ mutationFn: (other: string) => mergeIncident(incident.id, other), onSuccess: onDone });
  if (chosen) {
    return (
      <ConfirmDialog
        width="sm"
        title={`Merge “${chosen.title}” into this incident?`}
        text={`Its ${plural(chosen.alerts, "alert")} and everything that is received about them from now on become part of this incident. To undo it, split them off again.`}
        keep="Cancel"
        onClose={() => setChosen(null)}
        actions={
          <Button variant="contained" loading={merge.isPending} onClick={() => merge.mutate(chosen.id)}>
            Merge
          </Button>
        }
      >
        {merge.error && <Failure what="They could not be merged." error={merge.error} />}
      </ConfirmDialog>
    );
  }
  return (
    <ConfirmDialog width="sm" title="Merge another incident into this one" text="Its alerts become part of this incident, and so do later deliveries of them." keep="Cancel" onClose={onClose}>
      <SearchBox label="Search open incidents" text={text} onText={setText} />
      <Candidates text={text} own={incident.id} onChoose={setChosen} />
    </ConfirmDialog>
  );
}

function Candidates({ text, own, onChoose }: { text: string; own: string; onChoose: (incident: IncidentItem) => void }) {
  const { data, error } = useQuery(openIncidents(text));
  if (error) return <Failure what="The incidents could not be loaded." error={error} />;
  if (!data) return <Loading what="incidents" />;
  const others = data.incidents.filter((incident) => incident.id !== own);
  if (others.length === 0) return <Nothing title={text === "" ? "There is no other open incident" : "No other open incident matches"} />;
  return (
    <List dense>
      {others.map((incident) => (
        <ListItem key={incident.id} disablePadding>
          <ListItemButton onClick={() => onChoose(incident)}>
            <ListItemText primary={incident.title} secondary={`${incident.source}, ${plural(incident.alerts, "alert")}`} />
          </ListItemButton>
        </ListItem>
      ))}
    </List>
  );
}
