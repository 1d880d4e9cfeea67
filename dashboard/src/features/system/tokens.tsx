/** The API tokens in the database, for administrators. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import MenuItem from "@mui/material/MenuItem";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { createToken, me, revokeToken, tokens } from "@/api/system";
import { ActionDialog, ConfirmDialog } from "@/components/confirm-dialog";
import { CopyButton } from "@/components/copy-button";
import { Section } from "@/components/section";
import { Loaded } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { RelativeTime, serverTimeIn } from "@/components/times";
import type { AccessRole, TokenItem } from "@/wire/types";

export function Tokens() {
  const denied = useQuery(me).data?.denied;
  const [dialogOpen, setDialogOpen] = useState(false);
  if (denied === undefined || "listTokens" in denied) return null;
  return (
    <Section
      title="API tokens"
      flush
      actions={
        <Button size="small" startIcon={<KeyRound size={15} />} onClick={() => setDialogOpen(true)}>
          New token
        </Button>
      }
    >
      <TokenList />
      {dialogOpen && <NewTokenDialog onClose={() => setDialogOpen(false)} />}
    </Section>
  );
}

function TokenList() {
  return (
    <Loaded query={useQuery(tokens)} what="the tokens" failure="The tokens could not be loaded.">
      {({ tokens: listed }) =>
        listed.length === 0 ? (
          <Typography variant="body2" color="textSecondary" sx={{ p: 2 }}>
            There are none in the database. Those of TARSY_API_TOKENS are not listed here.
          </Typography>
        ) : (
          <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
            {listed.map((token) => (
              <Token key={token.name} token={token} />
            ))}
          </Box>
        )
      }
    </Loaded>
  );
}

function Token({ token }: { token: TokenItem }) {
  const [dialogOpen, setDialogOpen] = useState(false);
  return (
    <Box component="li" sx={{ display: "flex", flexWrap: "wrap", alignItems: "center", columnGap: 2, px: 2, py: 1, borderTop: 1, borderColor: "divider", "&:first-of-type": { borderTop: 0 } }}>
      <Typography variant="body2" sx={{ fontWeight: 600 }}>
        {token.name}
      </Typography>
      <Typography variant="body2">{token.role}</Typography>
      <Typography variant="caption" color="textSecondary" sx={{ flex: 1 }}>
        {token.expires_at ? <>expires <RelativeTime at={token.expires_at} /></> : "does not expire"}, {token.last_used_at ? <>last used <RelativeTime at={token.last_used_at} /></> : "never used"}
      </Typography>
      <Button size="small" color="error" aria-label={`Revoke ${token.name}`} onClick={() => setDialogOpen(true)}>
        Revoke
      </Button>
      {dialogOpen && <RevokeDialog name={token.name} onClose={() => setDialogOpen(false)} />}
    </Box>
  );
}

function RevokeDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const client = useQueryClient();
  const revoke = useMutation({ mutationFn: () => revokeToken(name), onSuccess: () => client.invalidateQueries({ queryKey: tokens.queryKey }) });
  return <ActionDialog title={`Revoke ${name}?`} text="Programs and people that use this token are refused at once. It cannot be undone." cancelLabel="Keep it" onClose={onClose} mutation={revoke} label="Revoke" failure="It could not be revoked." destructive />;
}

const ROLES = {
  viewer: "Viewer: reads",
  responder: "Responder: also submits, cancels, asks, handles incidents",
  approver: "Approver: also decides about approvals",
  admin: "Admin: also erases, configures, manages tokens",
} satisfies Record<AccessRole, string>;
const DAY_MS = 86_400_000;
const LIFETIMES = { "30 days": 30, "90 days": 90, "a year": 365, "no limit": null } as const;
type Lifetime = keyof typeof LIFETIMES;

function NewTokenDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<AccessRole>("responder");
  const [lifetime, setLifetime] = useState<Lifetime>("90 days");
  const days = LIFETIMES[lifetime];
  const create = useMutation({
    mutationFn: () => createToken(name.trim(), role, days === null ? null : serverTimeIn(days * DAY_MS)),
    onSuccess: () => client.invalidateQueries({ queryKey: tokens.queryKey }),
  });
  if (create.data) {
    return (
      <ConfirmDialog width="sm" title="Copy the token now" text="TARSy stores only its hash and cannot show it again." cancelLabel="Done" onClose={onClose} closesByButtonOnly>
        <Stack direction="row" sx={{ alignItems: "center", gap: 1 }}>
          <Box component="code" data-testid="token" sx={{ fontFamily: MONO, overflowWrap: "anywhere" }}>
            {create.data.token}
          </Box>
          <CopyButton text={create.data.token} label="Copy" />
        </Stack>
      </ConfirmDialog>
    );
  }
  return (
    <ActionDialog
      width="sm"
      title="New token"
      text="Its name becomes the author of everything that is done with it."
      // The token is shown once only: the dialog stays until it is.
      onClose={() => create.isPending || onClose()}
      mutation={create}
      label="Create"
      disabled={name.trim() === ""}
      onDone={() => undefined}
      failure="The token was not created."
    >
      <TextField size="small" label="Name" value={name} onChange={(event) => setName(event.target.value)} autoFocus />
      <TextField select size="small" label="Role" value={role} onChange={(event) => setRole(event.target.value as AccessRole)}>
        {Object.entries(ROLES).map(([value, label]) => (
          <MenuItem key={value} value={value}>
            {label}
          </MenuItem>
        ))}
      </TextField>
      <TextField select size="small" label="Valid for" value={lifetime} onChange={(event) => setLifetime(event.target.value as Lifetime)}>
        {Object.keys(LIFETIMES).map((value) => (
          <MenuItem key={value} value={value}>
            {value}
          </MenuItem>
        ))}
      </TextField>
      {lifetime === "no limit" && <Alert severity="info">Revoke it when it is no longer needed.</Alert>}
    </ActionDialog>
  );
}
