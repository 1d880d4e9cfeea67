/** The mutes: matching alerts are recorded and not investigated, until a time. Maintenance is announced here. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { BellOff } from "lucide-react";
import { useState } from "react";
import { addMute, endMute, mutes } from "@/api/incidents";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { HoursField } from "@/components/fields";
import { Section } from "@/components/section";
import { Failure } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { RelativeTime, serverTimeIn } from "@/components/times";
import { Allowed } from "@/presentation/allowed";
import type { MuteItem } from "@/wire/types";

export function Mutes() {
  const { data } = useQuery(mutes);
  const [asking, setAsking] = useState(false);
  const found = data?.mutes ?? [];
  return (
    <Section
      title={found.length === 0 ? "Nothing is muted" : "Muted"}
      flush
      actions={
        <Allowed operation="addMute">
          <Button size="small" startIcon={<BellOff size={15} />} onClick={() => setAsking(true)}>
            Mute alerts
          </Button>
        </Allowed>
      }
    >
      {found.length > 0 && (
        <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
          {found.map((mute) => (
            <Mute key={mute.id ?? `${mute.starts} ${mute.match.join(" ")}`} mute={mute} />
          ))}
        </Box>
      )}
      {asking && <MuteDialog onClose={() => setAsking(false)} />}
    </Section>
  );
}

function Mute({ mute }: { mute: MuteItem }) {
  const client = useQueryClient();
  const end = useMutation({ mutationFn: endMute, onSuccess: () => client.invalidateQueries({ queryKey: mutes.queryKey }) });
  const { id } = mute;
  return (
    <Stack component="li" direction="row" sx={{ px: 2, py: 1, gap: 2, alignItems: "center", flexWrap: "wrap", borderTop: 1, borderColor: "divider" }}>
      <Typography variant="body2" sx={{ fontFamily: MONO, fontSize: "0.8rem", overflowWrap: "anywhere" }}>
        {mute.of_incident ? "one incident" : mute.match.join(", ") || "everything"}
      </Typography>
      <Typography variant="body2" color="textSecondary" sx={{ flex: 1 }}>
        ends <RelativeTime at={mute.ends} />
        {mute.reason && `: ${mute.reason}`}
        {mute.actor && ` (${mute.actor})`}
      </Typography>
      {end.error && <Failure what="It could not be ended." error={end.error} />}
      {id !== null && (
        <Allowed operation="endMute">
          <Button size="small" loading={end.isPending} onClick={() => end.mutate(id)}>
            End now
          </Button>
        </Allowed>
      )}
    </Stack>
  );
}

function MuteDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [match, setMatch] = useState("");
  const [reason, setReason] = useState("");
  const [hours, setHours] = useState(1);
  const add = useMutation({
    mutationFn: () => addMute(match.split("\n").map((line) => line.trim()).filter(Boolean), serverTimeIn(hours * 3_600_000), reason.trim()),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: mutes.queryKey });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      width="sm"
      title="Mute alerts"
      text="Until the mute ends, alerts that match all matchers are recorded but not investigated."
      keep="Cancel"
      onClose={onClose}
      actions={
        <Button variant="contained" disabled={match.trim() === ""} loading={add.isPending} onClick={() => add.mutate()}>
          Mute
        </Button>
      }
    >
      <TextField autoFocus multiline minRows={2} size="small" label="Matchers, one per line" placeholder={'cluster = "eu1"'} value={match} onChange={(event) => setMatch(event.target.value)} />
      <HoursField value={hours} onValue={setHours} />
      <TextField size="small" label="Reason" value={reason} onChange={(event) => setReason(event.target.value)} />
      {add.error && <Failure what="It could not be muted." error={add.error} />}
    </ConfirmDialog>
  );
}
