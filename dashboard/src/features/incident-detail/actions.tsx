/** The actions of an incident: investigate again, mute, merge another one into it, resolve it. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import List from "@mui/material/List";
import ListItem from "@mui/material/ListItem";
import ListItemButton from "@mui/material/ListItemButton";
import ListItemText from "@mui/material/ListItemText";
import Stack from "@mui/material/Stack";
import { useMutation, useQuery } from "@tanstack/react-query";
import { BellOff, CircleCheck, Merge, Search } from "lucide-react";
import { useState } from "react";
import { investigate, mergeIncident, muteIncident, openIncidents, resolveIncident } from "@/api/incidents";
import { ActionDialog, ConfirmDialog } from "@/components/confirm-dialog";
import { SearchBox } from "@/components/fields";
import { plural } from "@/components/format";
import { Failure, Loaded, Nothing } from "@/components/states";
import { Allowed } from "@/presentation/allowed";
import { MuteDialog } from "@/presentation/mute-dialog";
import { hasEnded } from "@/presentation/statuses";
import type { IncidentItem, IncidentView } from "@/wire/types";

interface ActionsProps {
  incident: IncidentView;
  onChanged: () => void;
}

export function Actions({ incident, onChanged }: ActionsProps) {
  const [dialog, setDialog] = useState<"mute" | "merge" | "resolve" | null>(null);
  const again = useMutation({ mutationFn: () => investigate(incident.id), onSuccess: onChanged });
  const isRunning = incident.sessions.some((session) => !hasEnded(session.status));
  const close = () => setDialog(null);
  return (
    <Box>
      <Stack direction="row" sx={{ gap: 0.5, flexWrap: "wrap" }}>
        <Allowed operation="investigateIncident">
          <Button size="small" variant="outlined" startIcon={<Search size={15} />} disabled={isRunning} loading={again.isPending} onClick={() => again.mutate()}>
            {incident.sessions.length === 0 ? "Investigate" : "Investigate again"}
          </Button>
        </Allowed>
        <Allowed operation="muteIncident">
          <Button size="small" color="inherit" startIcon={<BellOff size={15} />} onClick={() => setDialog("mute")}>
            Mute
          </Button>
        </Allowed>
        <Allowed operation="mergeIncidents">
          <Button size="small" color="inherit" startIcon={<Merge size={15} />} onClick={() => setDialog("merge")}>
            Merge
          </Button>
        </Allowed>
        {incident.state === "open" && (
          <Allowed operation="resolveIncident">
            <Button size="small" color="inherit" startIcon={<CircleCheck size={15} />} onClick={() => setDialog("resolve")}>
              Resolve
            </Button>
          </Allowed>
        )}
      </Stack>
      {again.error && <Failure what="It could not be investigated." error={again.error} />}
      {dialog === "mute" && <MuteDialog width="xs" title="Mute this incident?" text="Until the mute ends, its alerts are recorded but not investigated." hours={4} mute={(ends, reason) => muteIncident(incident.id, ends, reason)} onClose={close} onMuted={onChanged} />}
      {dialog === "merge" && <MergeDialog {...{ incident, onChanged }} onClose={close} />}
      {dialog === "resolve" && <ResolveDialog {...{ incident, onChanged }} onClose={close} />}
    </Box>
  );
}

interface DialogProps extends ActionsProps {
  onClose: () => void;
}

function ResolveDialog({ incident, onChanged, onClose }: DialogProps) {
  const resolve = useMutation({ mutationFn: () => resolveIncident(incident.id), onSuccess: onChanged });
  return <ActionDialog title="Resolve this incident?" text="Waiting investigations are cancelled. If an alert fires again, the incident reopens." onClose={onClose} mutation={resolve} label="Resolve" failure="It could not be resolved." />;
}

function MergeDialog({ incident, onChanged, onClose }: DialogProps) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<IncidentItem | null>(null);
  if (chosen) return <MergeChosenDialog incident={incident} chosen={chosen} onChanged={onChanged} onClose={() => setChosen(null)} onDone={onClose} />;
  return (
    <ConfirmDialog width="sm" title="Merge another incident into this one" text="Its alerts become part of this incident, and so do later deliveries of them." onClose={onClose}>
      <SearchBox label="Search open incidents" text={text} onText={setText} />
      <Candidates text={text} own={incident.id} onChoose={setChosen} />
    </ConfirmDialog>
  );
}

function MergeChosenDialog({ incident, chosen, onChanged, onClose, onDone }: DialogProps & { chosen: IncidentItem; onDone: () => void }) {
  const merge = useMutation({ mutationFn: () => mergeIncident(incident.id, chosen.id), onSuccess: onChanged });
  return (
    <ActionDialog
      width="sm"
      title={`Merge “${chosen.title}” into this incident?`}
      text={`Its ${plural(chosen.alerts, "alert")} and everything that is received about them from now on become part of this incident. To undo it, split them off again.`}
      onClose={onClose}
      mutation={merge}
      label="Merge"
      onDone={onDone}
      failure="They could not be merged."
    />
  );
}

function Candidates({ text, own, onChoose }: { text: string; own: string; onChoose: (incident: IncidentItem) => void }) {
  return (
    <Loaded query={useQuery(openIncidents(text))} what="incidents" failure="The incidents could not be loaded.">
      {({ incidents }) => {
        const others = incidents.filter((incident) => incident.id !== own);
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
      }}
    </Loaded>
  );
}
