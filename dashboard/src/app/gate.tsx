/** Shows the login form where the server requires a login, and the application otherwise. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Paper from "@mui/material/Paper";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useState } from "react";
import { login, me } from "@/api/system";
import { Form } from "@/components/fields";
import { Failure, Loading } from "@/components/states";

export function LoginGate({ children }: { children: ReactNode }) {
  const { data, error, refetch } = useQuery(me);
  const [wasLoggedIn, setWasLoggedIn] = useState(false);
  const isLoggedIn = data !== undefined && !(data.login_required && data.author === null);
  if (isLoggedIn && !wasLoggedIn) setWasLoggedIn(true);
  if (data) {
    return (
      <>
        {!isLoggedIn && (
          <Box sx={{ position: "fixed", inset: 0, zIndex: "modal", bgcolor: "background.default", overflow: "auto" }}>
            <LoginPage />
          </Box>
        )}
        {/* Kept when the login expires: the page may hold unsent text. */}
        {(isLoggedIn || wasLoggedIn) && <div inert={!isLoggedIn}>{children}</div>}
      </>
    );
  }
  return (
    <Box component="main" sx={{ p: 2 }}>
      {error ? <Failure what="TARSy is not responding." error={error} onRetry={() => void refetch()} /> : <Loading what="TARSy" />}
    </Box>
  );
}

function LoginPage() {
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const { mutate, isPending, error } = useMutation({ mutationFn: () => login(token.trim()), onSuccess: () => client.invalidateQueries() });
  return (
    <Box component="main" sx={{ display: "grid", placeItems: "center", minHeight: "100vh", p: 2 }}>
      <Paper variant="outlined" sx={{ p: 4, width: "100%", maxWidth: 400 }}>
        <Form spacing={2} onSubmit={mutate}>
          <Typography variant="h1">Log in to TARSy</Typography>
          <Typography variant="body2" color="textSecondary">
            This server requires an API token. Ask its operator for one.
          </Typography>
          <TextField label="API token" type="password" autoComplete="current-password" value={token} onChange={(event) => setToken(event.target.value)} autoFocus fullWidth />
          {error && <Failure what="Login failed." error={error} />}
          <Button type="submit" variant="contained" disabled={token.trim() === ""} loading={isPending}>
            Log in
          </Button>
        </Form>
      </Paper>
    </Box>
  );
}
