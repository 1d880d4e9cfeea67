/** The investigations of an incident, the latest first. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { Badge } from "@/components/badge";
import { TextLink } from "@/components/links";
import { Section } from "@/components/section";
import { Nothing } from "@/components/states";
import { clamped } from "@/components/text-styles";
import { Elapsed, RelativeTime } from "@/components/times";
import { reasonBeside, SESSION_FACES } from "@/presentation/statuses";
import type { IncidentSession } from "@/wire/types";

export function Investigations({ sessions }: { sessions: IncidentSession[] }) {
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
  const face = SESSION_FACES[session.status];
  return (
    <Box component="li" sx={{ px: 2, py: 1.25, borderTop: 1, borderColor: "divider", "&:first-of-type": { borderTop: 0 } }}>
      <Typography variant="body2" component="div" sx={{ display: "flex", gap: 1.5, flexWrap: "wrap", alignItems: "center" }}>
        <Badge face={face} />
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
        {session.executive_summary ?? reasonBeside(face, session.error_message) ?? ""}
      </Typography>
    </Box>
  );
}
