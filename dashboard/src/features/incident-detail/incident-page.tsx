/** The page of an incident: facts, activity, alerts, investigations and notes. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useMemo } from "react";
import { isNotFound } from "@/api/client";
import { incidentDetail, incidentKeys } from "@/api/incidents";
import { sessionDetail, sessionKeys } from "@/api/sessions";
import { Badge } from "@/components/badge";
import { formatCost, plural } from "@/components/format";
import { TextLink } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { Fact, Section } from "@/components/section";
import { Failure, Loading, Nothing, NotFound } from "@/components/states";
import { clamped } from "@/components/text-styles";
import { Elapsed, RelativeTime } from "@/components/times";
import { useCheckedAnalysis } from "@/presentation/checked-analysis";
import type { EvidenceLinks, EvidenceTarget } from "@/presentation/evidence";
import { EvidenceLinksContext } from "@/presentation/evidence";
import { MUTED, SEVERITY_BADGES, STATE_BADGES } from "@/presentation/incidents";
import { useLiveRefetch } from "@/presentation/live-refetch";
import { NoteLine } from "@/presentation/note-line";
import { findingOf, StatusBadge, statusBadge } from "@/presentation/session-status";
import { distinctReason } from "@/presentation/statuses";
import { TriagePanel } from "@/presentation/triage-panel";
import { VerdictCard } from "@/presentation/verdict-card";
import type { LiveMessage } from "@/wire/live-messages";
import type { IncidentSession, IncidentView, Note, SessionDetail } from "@/wire/types";
import { Actions } from "./actions";
import { ActivityView } from "./activity";
import { Members } from "./members";

const route = getRouteApi("/incidents/$incidentId");

export function IncidentPage() {
  const { incidentId } = route.useParams();
  const navigate = route.useNavigate();
  const { data: incident, error, refetch } = useQuery(incidentDetail(incidentId));
  const judged = incident?.sessions.find((session) => session.verdict !== null);
  const changes = (message: LiveMessage) => changesIncident(message, incidentId, incident?.sessions);
  const queryKeys = [incidentKeys.detail(incidentId), ...(judged ? [sessionKeys.detail(judged.id)] : [])];
  useLiveRefetch("sessions", changes, queryKeys);
  const refresh = useLiveRefetch("incidents", changes, queryKeys);
  usePageTitle(incident?.title ?? "Incident");
  if (!incident && isNotFound(error)) return <NotFound what="incident" />;
  if (error && !incident) return <Failure what="The incident could not be loaded." error={error} onRetry={() => void refetch()} />;
  if (!incident) return <Loading what="the incident" />;
  return (
    <Stack spacing={2}>
      <Header incident={incident} onChanged={refresh} />
      {judged && <LastVerdict sessionId={judged.id} />}
      <IncidentFacts incident={incident} />
      <ActivityView incident={incident} />
      <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 3fr) minmax(0, 2fr)" }, alignItems: "start" }}>
        <Members incident={incident} onSplit={(created) => void navigate({ to: "/incidents/$incidentId", params: { incidentId: created } })} />
        <Stack spacing={2}>
          <Section title="Triage">
            <TriagePanel subject={{ kind: "incident", id: incident.id }} triage={incident.triage} onChanged={refresh} />
          </Section>
          <Investigations sessions={incident.sessions} />
          <Notes notes={incident.notes} />
        </Stack>
      </Box>
    </Stack>
  );
}

function Header({ incident, onChanged }: { incident: IncidentView; onChanged: () => void }) {
  const [last] = incident.sessions;
  return (
    <Box sx={{ display: "flex", alignItems: "center", flexWrap: "wrap", columnGap: 2, rowGap: 0.5, py: 1, borderBottom: 1, borderColor: "divider" }}>
      <Typography component="div" role="status" data-testid="incident-state">
        <Badge badge={STATE_BADGES[incident.state]} />
      </Typography>
      <Typography component="div">
        <Badge badge={SEVERITY_BADGES[incident.severity]} />
      </Typography>
      {last && (
        <Typography component="div">
          <StatusBadge session={last} />
        </Typography>
      )}
      <Typography variant="h1" sx={{ ...clamped({ xs: 3, sm: 2, md: 1 }), flex: "1 1 260px", fontSize: { xs: "1.15rem", sm: "1.35rem" } }} title={incident.title}>
        {incident.title}
      </Typography>
      <Actions incident={incident} onChanged={onChanged} />
    </Box>
  );
}

/** Whether the incident has to be refetched after a message. `sessions` is undefined until it is loaded. */
export function changesIncident(message: LiveMessage, incidentId: string, sessions: readonly Pick<IncidentSession, "id">[] | undefined): boolean {
  switch (message.type) {
    case "incident.changed":
      return message.incident_id === incidentId;
    case "session.status":
    case "session.completed":
      return sessions?.some(({ id }) => id === message.session_id) ?? true;
    default:
      return false;
  }
}

/** The verdict of the last investigation that has one. */
function LastVerdict({ sessionId }: { sessionId: string }) {
  const { data: session } = useQuery(sessionDetail(sessionId));
  return session && <SessionVerdict session={session} />;
}

function SessionVerdict({ session }: { session: SessionDetail }) {
  const router = useRouter();
  const { list, checked, error, doNow } = useCheckedAnalysis(session, true);
  const links = useMemo((): EvidenceLinks => {
    const place = (target: EvidenceTarget) => ({ to: "/sessions/$sessionId", params: { sessionId: session.id }, search: { ...target } }) as const;
    return { sessionId: session.id, hrefOf: (target) => router.buildLocation(place(target)).href, open: (target) => void router.navigate(place(target)) };
  }, [router, session.id]);
  const link = (
    <TextLink to="/sessions/$sessionId" params={{ sessionId: session.id }}>
      Open the session
    </TextLink>
  );
  return (
    <EvidenceLinksContext value={links}>
      <VerdictCard {...{ session, doNow, list, checked, error }} actions={link} />
    </EvidenceLinksContext>
  );
}

function IncidentFacts({ incident }: { incident: IncidentView }) {
  const [mute] = incident.mutes;
  return (
    <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: { xs: 2.5, sm: 4 }, rowGap: 1, m: 0 }}>
      <Fact name="Source">{incident.source}</Fact>
      <Fact name="Opened">
        <RelativeTime at={incident.opened_at} />
      </Fact>
      <Fact name="Duration">
        <Elapsed since={incident.opened_at} until={incident.resolved_at} />
      </Fact>
      <Fact name="Received">
        {plural(incident.deliveries, "time")}, last <RelativeTime at={incident.heard_at} />
      </Fact>
      {incident.truncated > 0 && <Fact name="Left out">{plural(incident.truncated, "further alert")} of the last delivery</Fact>}
      <Fact name="Route">{incident.route}</Fact>
      {incident.triage.assignee && <Fact name="Assigned to">{incident.triage.assignee}</Fact>}
      {incident.triage.acknowledged_by && <Fact name="Acknowledged by">{incident.triage.acknowledged_by}</Fact>}
      {(incident.cost.usd !== null || incident.cost.unpriced_calls > 0) && <Fact name="Cost">{formatCost(incident.cost)}</Fact>}
      {incident.merged.length > 0 && <Fact name="Merged">{plural(incident.merged.length, "other incident")}</Fact>}
      {mute && (
        <Fact name="Alerts">
          <Badge badge={MUTED} /> until <RelativeTime at={mute.ends} />
          {mute.reason && `: ${mute.reason}`}
        </Fact>
      )}
    </Box>
  );
}

function Investigations({ sessions }: { sessions: IncidentSession[] }) {
  return (
    <Section title="Investigations" flush>
      {sessions.length === 0 && <Nothing title="Not investigated yet" />}
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {sessions.map((session) => (
          <Investigation key={session.id} session={session} />
        ))}
      </Box>
    </Section>
  );
}

function Investigation({ session }: { session: IncidentSession }) {
  return (
    <Box component="li" sx={{ px: 2, py: 1.25, borderTop: 1, borderColor: "divider", "&:first-of-type": { borderTop: 0 } }}>
      <Typography variant="body2" component="div" sx={{ display: "flex", gap: 1.5, flexWrap: "wrap", alignItems: "center" }}>
        <span>
          <StatusBadge session={session} />
        </span>
        <TextLink to="/sessions/$sessionId" params={{ sessionId: session.id }}>
          <RelativeTime at={session.created_at} /> by {session.author}
        </TextLink>
        {session.started_at && (
          <Box component="span" sx={{ color: "text.secondary" }}>
            <Elapsed since={session.started_at} until={session.completed_at} />
          </Box>
        )}
      </Typography>
      <Typography variant="body2" sx={{ ...clamped(4), mt: 0.5 }}>
        {findingOf(session) ?? distinctReason(statusBadge(session), session.error_message) ?? ""}
      </Typography>
    </Box>
  );
}

export function Notes({ notes }: { notes: Note[] }) {
  if (notes.length === 0) return null;
  return (
    <Section title="Notes to its investigations">
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {notes.map((note) => (
          <NoteLine key={`${note.session_id} ${note.id}`} note={note}>
            <TextLink to="/sessions/$sessionId" params={{ sessionId: note.session_id }}>
              Session
            </TextLink>
          </NoteLine>
        ))}
      </Box>
    </Section>
  );
}
