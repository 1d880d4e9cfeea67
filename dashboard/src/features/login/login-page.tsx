/** Asks for the token when the server wants one. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { login } from "@/api/account";
import { Failure } from "@/components/states";

export function LoginPage() {
  const client = useQueryClient();
  const [token, setToken] = useState("");
  const enter = useMutation({ mutationFn: () => login(token.trim()), onSuccess: () => client.invalidateQueries() });
  return (
    <Box component="main" sx={{ display: "grid", placeItems: "center", minHeight: "100vh", p: 2 }}>
      <Paper variant="outlined" sx={{ p: 4, width: "100%", maxWidth: 400 }}>
        <Stack
          component="form"
          spacing={2}
          onSubmit={(event) => {
            event.preventDefault();
            enter.mutate();
          }}
        >
          <Typography variant="h1">Log in to TARSy</Typography>
          <Typography variant="body2" color="textSecondary">
            This server wants an API token. Its operator can give you one.
          </Typography>
          <TextField label="API token" type="password" autoComplete="current-password" value={token} onChange={(event) => setToken(event.target.value)} autoFocus fullWidth />
          {enter.error && <Failure what="You were not let in." error={enter.error} />}
          <Button type="submit" variant="contained" disabled={token.trim() === ""} loading={enter.isPending}>
            Log in
          </Button>
        </Stack>
      </Paper>
    </Box>
  );
}
