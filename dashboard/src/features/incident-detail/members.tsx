/** The alerts of an incident, some of which can be split off into a new incident. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Checkbox from "@mui/material/Checkbox";
import Chip from "@mui/material/Chip";
import Link from "@mui/material/Link";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useMutation } from "@tanstack/react-query";
import { Scissors } from "lucide-react";
import { useState } from "react";
import { splitIncident } from "@/api/incidents";
import { Badge } from "@/components/badge";
import { ActionDialog } from "@/components/confirm-dialog";
import { plural } from "@/components/format";
import { Section } from "@/components/section";
import { MONO } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import { Allowed } from "@/presentation/allowed";
import { ALERT_BADGES, SEVERITY_BADGES } from "@/presentation/incidents";
import type { AlertItem, IncidentView } from "@/wire/types";

export function Members({ incident, onSplit }: { incident: IncidentView; onSplit: (incidentId: string) => void }) {
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  // Without those that somebody else has meanwhile moved to another incident.
  const chosen = new Set(incident.members.map(({ id }) => id).filter((id) => picked.has(id)));
  const [dialogOpen, setDialogOpen] = useState(false);
  const toggle = (id: string) => setPicked((before) => new Set(before.has(id) ? [...before].filter((other) => other !== id) : [...before, id]));
  const canSplit = incident.members.length > 1;
  const hidden = incident.alerts - incident.members.length;
  return (
    <Section
      title={`${incident.firing} of ${plural(incident.alerts, "alert")} firing`}
      flush
      actions={
        chosen.size > 0 &&
        chosen.size < incident.alerts && (
          <Allowed operation="splitIncident">
            <Button size="small" variant="outlined" startIcon={<Scissors size={15} />} onClick={() => setDialogOpen(true)}>
              Split off {plural(chosen.size, "alert")}
            </Button>
          </Allowed>
        )
      }
    >
      {dialogOpen && <SplitDialog incidentId={incident.id} chosen={[...chosen]} onClose={() => setDialogOpen(false)} onSplit={onSplit} />}
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {incident.members.map((member) => (
          <Member key={member.id} member={member} chosen={chosen.has(member.id)} onToggle={canSplit ? () => toggle(member.id) : undefined} />
        ))}
      </Box>
      {hidden > 0 && (
        <Typography variant="body2" color="textSecondary" sx={{ px: 2, py: 1, borderTop: 1, borderColor: "divider" }}>
          {plural(hidden, "further alert")} not shown.
        </Typography>
      )}
    </Section>
  );
}

function SplitDialog({ incidentId, chosen, onClose, onSplit }: { incidentId: string; chosen: string[]; onClose: () => void; onSplit: (incidentId: string) => void }) {
  const split = useMutation({ mutationFn: () => splitIncident(incidentId, chosen) });
  return (
    <ActionDialog
      title={`Split off ${plural(chosen.length, "alert")}?`}
      text="They become an incident of their own, with everything that is received about them from now on. To undo it, merge the new incident into this one."
      onClose={onClose}
      mutation={split}
      label="Split off"
      onDone={(created) => {
        onClose();
        onSplit(created.incident_id);
      }}
      failure="They could not be split off."
    />
  );
}

function Member({ member, chosen, onToggle }: { member: AlertItem; chosen: boolean; onToggle: (() => void) | undefined }) {
  return (
    <Stack component="li" direction="row" sx={{ px: 2, py: 1.25, gap: 1, borderTop: 1, borderColor: "divider", "&:first-of-type": { borderTop: 0 } }}>
      {onToggle && <Checkbox size="small" checked={chosen} onChange={onToggle} slotProps={{ input: { "aria-label": `Choose ${member.title}` } }} sx={{ alignSelf: "flex-start", p: 0.25 }} />}
      <Box sx={{ minWidth: 0, flex: 1 }}>
        <Stack direction="row" sx={{ flexWrap: "wrap", columnGap: 1.5, alignItems: "center" }}>
          <Typography variant="body2" component="span">
            <Badge badge={ALERT_BADGES[member.status]} />
          </Typography>
          <Typography variant="body2" component="span">
            <Badge badge={SEVERITY_BADGES[member.severity]} />
          </Typography>
          <Typography sx={{ fontWeight: 600, fontSize: "0.92rem", overflowWrap: "anywhere" }}>{member.title}</Typography>
        </Stack>
        <Typography variant="body2" color="textSecondary">
          received {plural(member.count, "time")}, first <RelativeTime at={member.first_at} />, last <RelativeTime at={member.heard_at} />
          {member.reason && ` (${member.reason})`}
        </Typography>
        <Labels labels={member.labels} />
        <Links member={member} />
      </Box>
    </Stack>
  );
}

function Labels({ labels }: { labels: Record<string, string> }) {
  const entries = Object.entries(labels).sort(([a], [b]) => a.localeCompare(b));
  if (entries.length === 0) return null;
  return (
    <Box sx={{ display: "flex", flexWrap: "wrap", gap: 0.5, mt: 0.5 }}>
      {entries.map(([name, value]) => (
        <Chip key={name} size="small" variant="outlined" label={`${name}=${value}`} sx={{ fontFamily: MONO, fontSize: "0.72rem", maxWidth: "100%" }} />
      ))}
    </Box>
  );
}

const LINKS = { source: "Source", dashboard: "Dashboard", runbook: "Runbook", silence: "Silence" } as const;

function Links({ member }: { member: AlertItem }) {
  const found = (Object.keys(LINKS) as (keyof typeof LINKS)[]).flatMap((name) => {
    const address = member.links[name];
    // Addresses of senders are not trusted: only web addresses become links.
    return address !== null && /^https?:\/\//i.test(address) ? [[LINKS[name], address] as const] : [];
  });
  if (found.length === 0) return null;
  return (
    <Stack direction="row" sx={{ gap: 1.5, mt: 0.5, flexWrap: "wrap" }}>
      {found.map(([label, address]) => (
        <Link key={label} variant="body2" href={address} target="_blank" rel="noreferrer">
          {label}
        </Link>
      ))}
    </Stack>
  );
}
