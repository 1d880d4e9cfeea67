/** Chooses the session to compare with: one of the same alert type, or any by its address. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import ButtonBase from "@mui/material/ButtonBase";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sessionPage } from "@/api/sessions";
import { Form } from "@/components/fields";
import { Section } from "@/components/section";
import { Loaded, Nothing } from "@/components/states";
import { ONE_LINE } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import { StatusBadge } from "@/presentation/session-status";
import { ENDED_STATUSES } from "@/presentation/statuses";
import type { SessionDetail } from "@/wire/types";

// The newest sessions; others are chosen by their address.
const OFFERED = 25;

interface ChooseOtherProps {
  session: SessionDetail;
  onOther: (sessionId: string) => void;
}

export function ChooseOther({ session, onOther }: ChooseOtherProps) {
  const query = useQuery(sessionPage({ alert_type: session.alert_type, status: ENDED_STATUSES }, { offset: 0, limit: OFFERED }));
  return (
    <Section title={`Compare “${session.title}” with`} flush>
      <AddressForm onOther={onOther} />
      <Loaded query={query} what="other sessions" failure="Other sessions could not be loaded.">
        {({ sessions }) => {
          const others = sessions.filter(({ id }) => id !== session.id);
          if (others.length === 0) return <Nothing title="There is no other session of this alert type">Paste the address of any other session above.</Nothing>;
          return (
            <Box component="ul" aria-label="Other sessions" sx={{ listStyle: "none", m: 0, p: 0 }}>
              {others.map((other) => (
                <li key={other.id}>
                  <ButtonBase onClick={() => onOther(other.id)} sx={{ display: "flex", gap: 2, width: "100%", justifyContent: "flex-start", textAlign: "left", px: 2, py: 1, borderTop: 1, borderColor: "divider", fontSize: "0.875rem", "&:hover": { bgcolor: "action.hover" } }}>
                    <span>
                      <StatusBadge session={other} />
                    </span>
                    <Box component="span" sx={{ ...ONE_LINE, flex: 1 }}>
                      {other.title}
                    </Box>
                    <Typography component="span" variant="caption" color="textSecondary" sx={{ whiteSpace: "nowrap" }}>
                      <RelativeTime at={other.created_at} />
                    </Typography>
                  </ButtonBase>
                </li>
              ))}
            </Box>
          );
        }}
      </Loaded>
    </Section>
  );
}

const SESSION_ID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/i;

/** The session id in a pasted text: the id itself, or the address of one of its pages. */
export function sessionIdIn(pasted: string): string | null {
  return SESSION_ID.exec(pasted)?.[0].toLowerCase() ?? null;
}

function AddressForm({ onOther }: Pick<ChooseOtherProps, "onOther">) {
  const [text, setText] = useState("");
  const [invalid, setInvalid] = useState(false);
  const submit = () => {
    const id = sessionIdIn(text);
    setInvalid(id === null);
    if (id !== null) onOther(id);
  };
  return (
    <Box sx={{ p: 2 }}>
      <Form direction="row" sx={{ gap: 1 }} onSubmit={submit}>
        <TextField size="small" fullWidth label="Address or id of a session" value={text} onChange={(event) => setText(event.target.value)} />
        <Button type="submit" variant="contained" disabled={text.trim() === ""}>
          Compare
        </Button>
      </Form>
      {invalid && (
        <Alert severity="warning" variant="outlined" sx={{ mt: 1 }}>
          This contains no session id. An id looks like 4f0c6d0e-2f4b-4a57-9d1d-6a4f6f1d7e21; the address of a session’s page ends with it.
        </Alert>
      )}
    </Box>
  );
}
