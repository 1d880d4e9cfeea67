/** What can be done about an incident: look again, mute, merge another one into it, end it. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogContentText from "@mui/material/DialogContentText";
import DialogTitle from "@mui/material/DialogTitle";
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
import { SearchBox } from "@/components/filter-fields";
import { plural } from "@/components/format";
import { Hours } from "@/components/hours";
import { Failure, Loading, Nothing } from "@/components/states";
import { hasEnded } from "@/presentation/statuses";
import type { IncidentView } from "@/wire/types";

interface ActionsProps {
  incident: IncidentView;
  onChanged: () => void;
}

type Asked = "mute" | "merge" | "resolve";

export function Actions({ incident, onChanged }: ActionsProps) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const again = useMutation({ mutationFn: () => investigate(incident.id), onSuccess: onChanged });
  const busy = incident.sessions.some((session) => !hasEnded(session.status));
  const close = () => setAsked(null);
  const done = () => {
    close();
    onChanged();
  };
  return (
    <Box>
      <Stack direction="row" sx={{ gap: 0.5, flexWrap: "wrap" }}>
        <Button size="small" variant="outlined" startIcon={<Search size={15} />} disabled={busy} loading={again.isPending} onClick={() => again.mutate()}>
          {incident.sessions.length === 0 ? "Investigate" : "Investigate again"}
        </Button>
        <Button size="small" color="inherit" startIcon={<BellOff size={15} />} onClick={() => setAsked("mute")}>
          Mute
        </Button>
        <Button size="small" color="inherit" startIcon={<Merge size={15} />} onClick={() => setAsked("merge")}>
          Merge
        </Button>
        {incident.state === "open" && (
          <Button size="small" color="inherit" startIcon={<CircleCheck size={15} />} onClick={() => setAsked("resolve")}>
            Resolve
          </Button>
        )}
      </Stack>
      {again.error && <Failure what="It is not investigated." error={again.error} />}
      {asked === "mute" && <MuteDialog incident={incident} onClose={close} onDone={done} />}
      {asked === "merge" && <MergeDialog incident={incident} onClose={close} onDone={done} />}
      {asked === "resolve" && <ResolveDialog incident={incident} onClose={close} onDone={done} />}
    </Box>
  );
}

interface AskingProps {
  incident: IncidentView;
  onClose: () => void;
  onDone: () => void;
}

function MuteDialog({ incident, onClose, onDone }: AskingProps) {
  const [hours, setHours] = useState(4);
  const [reason, setReason] = useState("");
  const mute = useMutation({ mutationFn: () => muteIncident(incident.id, new Date(Date.now() + hours * 3_600_000), reason.trim()), onSuccess: onDone });
  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="xs">
      <DialogTitle>Mute this incident?</DialogTitle>
      <DialogContent>
        <DialogContentText sx={{ mb: 2 }}>Its alerts are recorded and not investigated, until the time is over.</DialogContentText>
        <Stack spacing={2}>
          <Hours value={hours} onValue={setHours} />
          <TextField size="small" label="Reason" value={reason} onChange={(event) => setReason(event.target.value)} />
          {mute.error && <Failure what="It could not be muted." error={mute.error} />}
        </Stack>
      </DialogContent>
      <DialogActions>
        <Button onClick={onClose}>Keep it loud</Button>
        <Button variant="contained" loading={mute.isPending} onClick={() => mute.mutate()}>
          Mute
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function ResolveDialog({ incident, onClose, onDone }: AskingProps) {
  const end = useMutation({ mutationFn: () => resolveIncident(incident.id), onSuccess: onDone });
  return (
    <Dialog open onClose={onClose}>
      <DialogTitle>End this incident?</DialogTitle>
      <DialogContent>
        <DialogContentText>An investigation that waits is cancelled. If a sender says that it fires again, it is opened again.</DialogContentText>
        {end.error && <Failure what="It could not be ended." error={end.error} />}
      </DialogContent>
      <DialogActions>
        <Button onClick={onClose}>Keep it open</Button>
        <Button variant="contained" loading={end.isPending} onClick={() => end.mutate()}>
          Resolve
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function MergeDialog({ incident, onClose, onDone }: AskingProps) {
  const [text, setText] = useState("");
  const merge = useMutation({ mutationFn: (other: string) => mergeIncident(incident.id, other), onSuccess: onDone });
  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="sm">
      <DialogTitle>Merge another incident into this one</DialogTitle>
      <DialogContent>
        <DialogContentText sx={{ mb: 2 }}>Its alerts become part of this incident, with whatever is said of them from now on.</DialogContentText>
        <SearchBox label="Search open incidents" text={text} onText={setText} />
        {merge.error && <Failure what="They could not be merged." error={merge.error} />}
        <Candidates text={text} own={incident.id} busy={merge.isPending} onChoose={(other) => merge.mutate(other)} />
      </DialogContent>
      <DialogActions>
        <Button onClick={onClose}>Keep them apart</Button>
      </DialogActions>
    </Dialog>
  );
}

function Candidates({ text, own, busy, onChoose }: { text: string; own: string; busy: boolean; onChoose: (id: string) => void }) {
  const { data, error } = useQuery(openIncidents(text));
  if (error) return <Failure what="The incidents could not be loaded." error={error} />;
  if (!data) return <Loading what="incidents" />;
  const others = data.incidents.filter((incident) => incident.id !== own);
  if (others.length === 0) return <Nothing title="There is no other open incident" />;
  return (
    <List dense>
      {others.map((incident) => (
        <ListItem key={incident.id} disablePadding>
          <ListItemButton disabled={busy} onClick={() => onChoose(incident.id)}>
            <ListItemText primary={incident.title} secondary={`${incident.source}, ${plural(incident.alerts, "alert")}`} />
          </ListItemButton>
        </ListItem>
      ))}
    </List>
  );
}
