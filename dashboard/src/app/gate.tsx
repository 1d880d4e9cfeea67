/** Shows the login form where the server requires a login, and the application otherwise. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import Paper from "@mui/material/Paper";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useId, useState } from "react";
import { login, me } from "@/api/system";
import { Form } from "@/components/fields";
import { Failure, Loading } from "@/components/states";

export function LoginGate({ children }: { children: ReactNode }) {
  const { data, error, refetch } = useQuery(me);
  const [wasLoggedIn, setWasLoggedIn] = useState(false);
  const isLoggedIn = data !== undefined && !(data.login_required && data.author === null);
  if (isLoggedIn && !wasLoggedIn) setWasLoggedIn(true);
  const isPowerless = isLoggedIn && data.role === null;
  if (data) {
    return (
      <>
        {!isLoggedIn && <LoginDialog singleSignOn={data.single_sign_on} />}
        {/* Kept when the login expires: the page may hold unsent text. */}
        {(isLoggedIn || wasLoggedIn) && !isPowerless && children}
        {isPowerless && <NoRolePage author={data.author ?? ""} />}
      </>
    );
  }
  return (
    <Box component="main" sx={{ p: 2 }}>
      {error ? <Failure what="TARSy is not responding." error={error} onRetry={() => void refetch()} /> : <Loading what="TARSy" />}
    </Box>
  );
}

function NoRolePage({ author }: { author: string }) {
  return (
    <Box component="main" sx={{ p: 4 }}>
      <Typography variant="h1">No access</Typography>
      <Typography>{author} is logged in, but has no role in TARSy. Ask your administrator to give one to you or to one of your groups.</Typography>
    </Box>
  );
}

/** A dialog, so that it has the focus also where the login expires while another dialog is open. */
function LoginDialog({ singleSignOn }: { singleSignOn: string | null }) {
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const title = useId();
  const { mutate, isPending, error } = useMutation({ mutationFn: () => login(token.trim()), onSuccess: () => client.invalidateQueries() });
  return (
    <Dialog fullScreen open aria-labelledby={title} slotProps={{ paper: { sx: { display: "grid", placeItems: "center", p: 2, bgcolor: "background.default" } } }}>
      <Paper variant="outlined" sx={{ p: 4, width: "100%", maxWidth: 400 }}>
        <Form spacing={2} onSubmit={mutate}>
          <Typography id={title} variant="h1">
            Log in to TARSy
          </Typography>
          {singleSignOn !== null && (
            <Button variant="contained" href={`/api/v1/sign-in?return_to=${encodeURIComponent(window.location.pathname + window.location.search)}`}>
              Sign in with {singleSignOn}
            </Button>
          )}
          <Typography variant="body2" color="textSecondary">
            {singleSignOn === null ? "This server requires an API token. Ask its operator for one." : "Or use an API token."}
          </Typography>
          <TextField label="API token" type="password" autoComplete="current-password" value={token} onChange={(event) => setToken(event.target.value)} autoFocus={singleSignOn === null} fullWidth />
          {error && <Failure what="Login failed." error={error} />}
          <Button type="submit" variant={singleSignOn === null ? "contained" : "outlined"} disabled={token.trim() === ""} loading={isPending}>
            Log in
          </Button>
        </Form>
      </Paper>
    </Dialog>
  );
}
