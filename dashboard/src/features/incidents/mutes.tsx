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
import { Section } from "@/components/section";
import { Failure, Loaded } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import { Allowed } from "@/presentation/allowed";
import { MuteDialog } from "@/presentation/mute-dialog";
import type { MuteItem } from "@/wire/types";

export function Mutes() {
  const query = useQuery(mutes);
  const [dialogOpen, setDialogOpen] = useState(false);
  return (
    <Section
      title={query.data?.mutes.length === 0 ? "Nothing is muted" : "Muted"}
      flush
      actions={
        <Allowed operation="addMute">
          <Button size="small" startIcon={<BellOff size={15} />} onClick={() => setDialogOpen(true)}>
            Mute alerts
          </Button>
        </Allowed>
      }
    >
      <Loaded query={query} failure="The mutes could not be loaded.">
        {(data) => (
          <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
            {data.mutes.map((mute) => (
              <Mute key={mute.id ?? `${mute.starts} ${mute.match.join(" ")}`} mute={mute} />
            ))}
          </Box>
        )}
      </Loaded>
      {dialogOpen && <MuteMatchingDialog onClose={() => setDialogOpen(false)} />}
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

function MuteMatchingDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [match, setMatch] = useState("");
  const matchers = match.split("\n").map((line) => line.trim()).filter(Boolean);
  const onMuted = () => client.invalidateQueries({ queryKey: mutes.queryKey });
  return (
    <MuteDialog width="sm" title="Mute alerts" text="Until the mute ends, alerts that match all matchers are recorded but not investigated." hours={1} disabled={matchers.length === 0} mute={(ends, reason) => addMute(matchers, ends, reason)} onClose={onClose} onMuted={onMuted}>
      <TextField autoFocus multiline minRows={2} size="small" label="Matchers, one per line" placeholder={'cluster = "eu1"'} value={match} onChange={(event) => setMatch(event.target.value)} />
    </MuteDialog>
  );
}
