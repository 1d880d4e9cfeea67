/** An incident: what is wrong, since when, what was found, and what can be done. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { isMissing } from "@/api/client";
import { incidentDetail, incidentKeys } from "@/api/incidents";
import { refetchChanged } from "@/api/refetch";
import { Badge } from "@/components/badge";
import { formatCost, plural } from "@/components/format";
import { Fact } from "@/components/section";
import { Failure, Loading } from "@/components/states";
import { clamped } from "@/components/text-styles";
import { Elapsed, RelativeTime } from "@/components/times";
import { useTitle } from "@/components/title";
import { useThrottled } from "@/components/use-throttled";
import { NotThere } from "@/components/way-on";
import { useChannel } from "@/live/connection";
import { MUTED, SEVERITY_FACES, STATE_FACES } from "@/presentation/incidents";
import type { IncidentView } from "@/wire/types";
import { Actions } from "./actions";
import { ActivityView } from "./activity-view";
import { Investigations } from "./investigations";
import { Members } from "./members";
import { Notes } from "./notes";

// A storm of alerts must not become a storm of requests.
const REFRESH_EVERY_MS = 1_000;

export function IncidentPage({ incidentId, onIncident }: { incidentId: string; onIncident: (incidentId: string) => void }) {
  const { data: incident, error, refetch } = useQuery(incidentDetail(incidentId));
  const refresh = useRefresh(incidentId);
  useTitle(incident?.title ?? "Incident");
  if (!incident && isMissing(error)) return <NotThere what="incident" />;
  if (error && !incident) return <Failure what="The incident could not be loaded." error={error} onRetry={() => void refetch()} />;
  if (!incident) return <Loading what="the incident" />;
  return (
    <Stack spacing={2}>
      <Header incident={incident} onChanged={refresh} />
      <ActivityView incident={incident} />
      <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 3fr) minmax(0, 2fr)" }, alignItems: "start" }}>
        <Members incident={incident} onSplit={onIncident} />
        <Stack spacing={2}>
          <Investigations sessions={incident.sessions} />
          <Notes notes={incident.notes} />
        </Stack>
      </Box>
    </Stack>
  );
}

/** Asks again when something of this incident, or one of its investigations, is told to be different. */
function useRefresh(incidentId: string): () => void {
  const client = useQueryClient();
  const refresh = useThrottled(() => void refetchChanged(client, incidentKeys.detail(incidentId)), REFRESH_EVERY_MS);
  useChannel("incidents", (message) => {
    if (message.type === "catchup.overflow" || (message.type === "incident.changed" && message.incident_id === incidentId)) refresh();
  });
  useChannel("sessions", (message) => {
    if (message.type !== "session.status" && message.type !== "session.completed") return;
    const shown = client.getQueryData<IncidentView>(incidentKeys.detail(incidentId));
    if (shown?.sessions.some((session) => session.id === message.session_id)) refresh();
  });
  return refresh;
}

function Header({ incident, onChanged }: { incident: IncidentView; onChanged: () => void }) {
  const [mute] = incident.mutes;
  return (
    <>
      <Box sx={{ display: "flex", alignItems: "center", flexWrap: "wrap", columnGap: 2, rowGap: 0.5, py: 1, borderBottom: 1, borderColor: "divider" }}>
        <Typography component="div" role="status" data-testid="incident-state">
          <Badge face={STATE_FACES[incident.state]} />
        </Typography>
        <Typography component="div">
          <Badge face={SEVERITY_FACES[incident.severity]} />
        </Typography>
        <Typography variant="h1" sx={{ ...clamped({ xs: 3, sm: 1 }), flex: "1 1 260px", fontSize: { xs: "1.15rem", sm: "1.35rem" } }} title={incident.title}>
          {incident.title}
        </Typography>
        <Actions incident={incident} onChanged={onChanged} />
      </Box>
      <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: { xs: 2.5, sm: 4 }, rowGap: 1, m: 0 }}>
        <Fact name="Source">{incident.source}</Fact>
        <Fact name="Opened">
          <RelativeTime at={incident.opened_at} />
        </Fact>
        <Fact name={incident.resolved_at ? "Lasted" : "Lasts"}>
          <Elapsed since={incident.opened_at} until={incident.resolved_at} />
        </Fact>
        <Fact name="Heard of">
          {plural(incident.deliveries, "time")}, last <RelativeTime at={incident.heard_at} />
        </Fact>
        <Fact name="Route">{incident.route}</Fact>
        {(incident.cost.usd !== null || incident.cost.unpriced_calls > 0) && <Fact name="Cost">{formatCost(incident.cost)}</Fact>}
        {incident.merged.length > 0 && <Fact name="Merged">{plural(incident.merged.length, "other incident")}</Fact>}
        {mute && (
          <Fact name="Alerts">
            <Badge face={MUTED} /> until <RelativeTime at={mute.ends} />
            {mute.reason && `: ${mute.reason}`}
          </Fact>
        )}
      </Box>
    </>
  );
}
