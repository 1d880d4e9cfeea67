/** Tool servers: only those that are shipped as recipes, each tried before it is written. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { setUpToolServer } from "@/api/setup";
import { Failure } from "@/components/states";
import type { RecipeItem, SetupState } from "@/wire/types";
import { OutcomeLine } from "./outcome-line";

export function ToolsStep({ state }: { state: SetupState }) {
  return (
    <Stack spacing={1.5}>
      <Typography variant="body2">
        Agents investigate with tools. Each of these is started and asked for its tools before anything is written. Any other MCP server is a few lines of configuration:{" "}
        <Link href="/help/mcp-servers.md">tool servers</Link>.
      </Typography>
      {state.recipes.map((recipe) => (
        <Recipe key={recipe.name} recipe={recipe} />
      ))}
    </Stack>
  );
}

function Recipe({ recipe }: { recipe: RecipeItem }) {
  const client = useQueryClient();
  const [values, setValues] = useState<Record<string, string>>(Object.fromEntries(recipe.fields.map((field) => [field.variable, field.suggestion])));
  const connect = useMutation({ mutationFn: () => setUpToolServer(recipe.name, values), onSuccess: () => client.invalidateQueries() });
  return (
    <Paper
      component="form"
      variant="outlined"
      aria-label={recipe.title}
      sx={{ p: 2 }}
      onSubmit={(event: React.SyntheticEvent) => {
        event.preventDefault();
        connect.mutate();
      }}
    >
      <Stack spacing={1.5} sx={{ alignItems: "flex-start" }}>
        <Typography variant="h3">{recipe.title}</Typography>
        <Typography variant="body2" color="textSecondary">
          {recipe.description}
        </Typography>
        {recipe.fields.map((field) => (
          <Field key={field.variable} field={field} value={values[field.variable] ?? ""} onChange={(value) => setValues({ ...values, [field.variable]: value })} />
        ))}
        {connect.error && <Failure what="It was not tried." error={connect.error} />}
        {connect.data && <OutcomeLine outcome={connect.data} />}
        <Button type="submit" variant="outlined" loading={connect.isPending} disabled={recipe.fields.some((field) => (values[field.variable] ?? "").trim() === "")} aria-label={`Test and connect: ${recipe.title}`}>
          Test and connect
        </Button>
      </Stack>
    </Paper>
  );
}

/** Its name stands above it: it says where the value comes from, and a phone would cut it off inside. */
function Field({ field, value, onChange }: { field: RecipeItem["fields"][number]; value: string; onChange: (value: string) => void }) {
  const id = useId();
  return (
    <Box sx={{ width: "100%", maxWidth: 560 }}>
      <Typography component="label" htmlFor={id} variant="body2" sx={{ display: "block", mb: 0.5 }}>
        {field.label}
      </Typography>
      <TextField
        id={id}
        size="small"
        fullWidth
        type={field.kind === "secret" ? "password" : "text"}
        autoComplete="off"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        helperText={`Kept in .env as ${field.variable}.${field.is_set ? " A value is set already." : ""}`}
      />
    </Box>
  );
}
