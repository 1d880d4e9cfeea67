/** Asks for the code that the terminal showed, once. */
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { openSetup } from "@/api/setup";
import { Failure } from "@/components/states";
import { MONO } from "@/components/text-styles";

export function CodeGate({ hasCode }: { hasCode: boolean }) {
  const client = useQueryClient();
  const [code, setCode] = useState("");
  const enter = useMutation({ mutationFn: () => openSetup(code), onSettled: () => client.invalidateQueries({ queryKey: ["setup"] }) });
  if (!hasCode) {
    return (
      <Stack spacing={1}>
        {enter.error && <Failure what="The code was not accepted." error={enter.error} />}
        <Alert severity="info" variant="outlined">
          This step writes files on the server, so it asks for a code that only the terminal shows. Start <code>tarsy serve</code> again in a terminal to get one, or do this step by
          hand: the <Link href="/help/quickstart.md">quickstart</Link> has the commands.
        </Alert>
      </Stack>
    );
  }
  return (
    <Stack
      component="form"
      spacing={2}
      sx={{ alignItems: "flex-start" }}
      onSubmit={(event) => {
        event.preventDefault();
        enter.mutate();
      }}
    >
      <Typography variant="body2">
        This step writes files on the server. To show that they are yours to write, enter the code that <code>tarsy serve</code> printed in its terminal. It works once.
      </Typography>
      <TextField
        size="small"
        label="Setup code"
        value={code}
        onChange={(event) => setCode(event.target.value)}
        autoComplete="off"
        slotProps={{ htmlInput: { spellCheck: false, autoCapitalize: "characters", style: { fontFamily: MONO } } }}
      />
      {enter.error && <Failure what="The code was not accepted." error={enter.error} />}
      <Button type="submit" variant="contained" disabled={code.trim() === ""} loading={enter.isPending}>
        Open
      </Button>
    </Stack>
  );
}
