/** The steps that connect TARSy: to a model, and to tool servers. Each setting is tested before it is written. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import MenuItem from "@mui/material/MenuItem";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { findModels, setUpKey, setUpLocalModel, setUpToolServer } from "@/api/system";
import { plural } from "@/components/format";
import { Form } from "@/components/fields";
import { Failure } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { Toggles } from "@/components/toggles";
import type { RecipeItem, SetupOutcome, SetupState, VendorItem } from "@/wire/types";

const VENDORS: Record<string, string> = { google: "Google Gemini", openai: "OpenAI", anthropic: "Anthropic Claude", xai: "xAI Grok" };

export function ModelStep({ state }: { state: SetupState }) {
  const [kind, setKind] = useState<"key" | "local">("key");
  return (
    <Stack spacing={2}>
      <Typography variant="body2">{state.model ? `In use: ${state.model}.` : "No model yet: sample incidents play a recording, other alerts are refused."}</Typography>
      <Toggles label="Kind of model" options={{ key: "A vendor’s key", local: "A model of your own" }} value={kind} onValue={setKind} />
      {kind === "key" ? <KeyForm vendors={state.vendors} /> : <LocalForm />}
    </Stack>
  );
}

function KeyForm({ vendors }: { vendors: VendorItem[] }) {
  const client = useQueryClient();
  const [vendor, setVendor] = useState(vendors[0]?.name ?? "");
  const [key, setKey] = useState("");
  const save = useMutation({
    mutationFn: (tested: string) => setUpKey(vendor, tested),
    onSuccess: (outcome, tested) => {
      // Another one may have been typed meanwhile.
      if (outcome.ok) setKey((now) => (now === tested ? "" : now));
      return client.invalidateQueries();
    },
  });
  // An outcome is shown until something else is entered.
  const onVendor = (name: string) => {
    setVendor(name);
    save.reset();
  };
  const onKey = (typed: string) => {
    setKey(typed);
    save.reset();
  };
  const chosen = vendors.find(({ name }) => name === vendor);
  return (
    <Form spacing={2} sx={{ alignItems: "flex-start", maxWidth: 560 }} onSubmit={() => save.mutate(key)}>
      <TextField select size="small" label="Vendor" value={vendor} onChange={(event) => onVendor(event.target.value)} helperText={chosen ? `The model will be ${chosen.model}; the configuration can name another.` : ""} fullWidth>
        {vendors.map(({ name, has_key: hasKey }) => (
          <MenuItem key={name} value={name}>
            {VENDORS[name] ?? name}
            {hasKey ? " (a key is set)" : ""}
          </MenuItem>
        ))}
      </TextField>
      <TextField size="small" type="password" autoComplete="off" label="API key" value={key} onChange={(event) => onKey(event.target.value)} helperText={`Tested with one small call, then written to .env as ${chosen?.variable ?? "a variable"}, readable by TARSy’s account alone.`} fullWidth />
      {save.error && <Failure what="The key could not be tested." error={save.error} />}
      {save.data && <OutcomeLine outcome={save.data} />}
      <Button type="submit" variant="contained" disabled={key.trim() === ""} loading={save.isPending}>
        Test and save
      </Button>
    </Form>
  );
}

function LocalForm() {
  const client = useQueryClient();
  const [url, setUrl] = useState("http://localhost:11434/v1");
  const [model, setModel] = useState("");
  const [key, setKey] = useState("");
  const find = useMutation({ mutationFn: () => findModels(url, key), onSuccess: (found) => setModel(found.models.find((name) => !/embed|rerank/i.test(name)) ?? "") });
  const save = useMutation({ mutationFn: (base: string) => setUpLocalModel(base, model, key), onSuccess: () => client.invalidateQueries() });
  const found = find.data;
  const onModel = (name: string) => {
    setModel(name);
    save.reset();
  };
  const onKey = (typed: string) => {
    setKey(typed);
    save.reset();
  };
  return (
    <Form spacing={2} sx={{ alignItems: "flex-start", maxWidth: 560 }} onSubmit={() => (found ? save.mutate(found.base_url) : find.mutate())}>
      <TextField
        size="small"
        label="Address of the model server"
        value={url}
        onChange={(event) => {
          setUrl(event.target.value);
          find.reset();
          save.reset();
        }}
        helperText="Ollama, llama.cpp, vLLM, LM Studio: any server that speaks like OpenAI, as TARSy’s machine reaches it."
        fullWidth
      />
      <TextField size="small" type="password" autoComplete="off" label="API key" value={key} onChange={(event) => onKey(event.target.value)} helperText="Only if the server or gateway asks for one. Written to .env as LOCAL_API_KEY." fullWidth />
      {find.error && <Failure what="No model was found." error={find.error} />}
      {found && (
        <TextField select size="small" label="Model" value={model} onChange={(event) => onModel(event.target.value)} helperText={`Found at ${found.base_url}.`} fullWidth>
          {found.models.map((name) => (
            <MenuItem key={name} value={name}>
              {name}
            </MenuItem>
          ))}
        </TextField>
      )}
      {save.error && <Failure what="The model could not be tested." error={save.error} />}
      {save.data && <OutcomeLine outcome={save.data} />}
      <Button type="submit" variant="contained" disabled={url.trim() === "" || (found !== undefined && model === "")} loading={find.isPending || save.isPending}>
        {found ? "Test and save" : "Find models"}
      </Button>
    </Form>
  );
}

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
  const onValue = (variable: string, value: string) => {
    setValues({ ...values, [variable]: value });
    connect.reset();
  };
  return (
    <Paper variant="outlined" sx={{ p: 2 }}>
      <Form aria-label={recipe.title} spacing={1.5} sx={{ alignItems: "flex-start" }} onSubmit={connect.mutate}>
        <Typography variant="h3">{recipe.title}</Typography>
        <Typography variant="body2" color="textSecondary">
          {recipe.description}
        </Typography>
        {recipe.fields.map((field) => (
          <RecipeField key={field.variable} field={field} value={values[field.variable] ?? ""} onChange={(value) => onValue(field.variable, value)} />
        ))}
        {connect.error && <Failure what="It could not be tested." error={connect.error} />}
        {connect.data && <OutcomeLine outcome={connect.data} />}
        <Button type="submit" variant="outlined" loading={connect.isPending} disabled={recipe.fields.some((field) => (values[field.variable] ?? "").trim() === "")} aria-label={`Test and connect: ${recipe.title}`}>
          Test and connect
        </Button>
      </Form>
    </Paper>
  );
}

/** The label is above the field: inside of it, a phone would cut it off. */
function RecipeField({ field, value, onChange }: { field: RecipeItem["fields"][number]; value: string; onChange: (value: string) => void }) {
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

/** The result of testing and writing a setting. */
function OutcomeLine({ outcome }: { outcome: SetupOutcome }) {
  const result = outcome.ok ? "It works, and is in use from now on." : "It does not work yet.";
  return (
    <Alert severity={outcome.ok ? "success" : "error"} variant="outlined" sx={{ overflowWrap: "anywhere", whiteSpace: "pre-line" }}>
      <strong>{result}</strong> {outcome.message}
      {outcome.cure !== "" && `\nTo fix it: ${outcome.cure}.`}
      {outcome.tools.length > 0 && (
        <Box component="details">
          <summary>Names of the {plural(outcome.tools.length, "tool")}</summary>
          <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.8rem" }}>
            {outcome.tools.join(", ")}
          </Box>
        </Box>
      )}
      {outcome.written.map((line) => (
        <div key={line}>Written to {line}</div>
      ))}
    </Alert>
  );
}
