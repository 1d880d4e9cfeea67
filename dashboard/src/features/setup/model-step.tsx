/** A model: a vendor's key, or an address of one's own. */
import Button from "@mui/material/Button";
import MenuItem from "@mui/material/MenuItem";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import ToggleButton from "@mui/material/ToggleButton";
import ToggleButtonGroup from "@mui/material/ToggleButtonGroup";
import Typography from "@mui/material/Typography";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { findModels, setUpKey, setUpLocalModel } from "@/api/setup";
import { Failure } from "@/components/states";
import type { SetupState, VendorItem } from "@/wire/types";
import { OutcomeLine } from "./outcome-line";

const VENDORS: Record<string, string> = { google: "Google Gemini", openai: "OpenAI", anthropic: "Anthropic Claude", xai: "xAI Grok" };

export function ModelStep({ state }: { state: SetupState }) {
  const [way, setWay] = useState<"key" | "local">("key");
  return (
    <Stack spacing={2}>
      <Typography variant="body2">{state.model ? `In use: ${state.model}.` : "No model yet: sample incidents play a recording, other alerts are refused."}</Typography>
      <ToggleButtonGroup exclusive size="small" value={way} onChange={(_, chosen: "key" | "local" | null) => chosen && setWay(chosen)} aria-label="Kind of model">
        <ToggleButton value="key">A vendor’s key</ToggleButton>
        <ToggleButton value="local">A model of your own</ToggleButton>
      </ToggleButtonGroup>
      {way === "key" ? <KeyForm vendors={state.vendors} /> : <LocalForm />}
    </Stack>
  );
}

function KeyForm({ vendors }: { vendors: VendorItem[] }) {
  const client = useQueryClient();
  const [vendor, setVendor] = useState(vendors[0]?.name ?? "");
  const [key, setKey] = useState("");
  const save = useMutation({
    mutationFn: () => setUpKey(vendor, key),
    onSuccess: (outcome) => {
      if (outcome.ok) setKey("");
      return client.invalidateQueries();
    },
  });
  const chosen = vendors.find((one) => one.name === vendor);
  return (
    <Stack
      component="form"
      spacing={2}
      sx={{ alignItems: "flex-start", maxWidth: 560 }}
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <TextField select size="small" label="Vendor" value={vendor} onChange={(event) => setVendor(event.target.value)} helperText={chosen ? `The model will be ${chosen.model}; the configuration can name another.` : ""} fullWidth>
        {vendors.map((one) => (
          <MenuItem key={one.name} value={one.name}>
            {VENDORS[one.name] ?? one.name}
            {one.has_key ? " (a key is set)" : ""}
          </MenuItem>
        ))}
      </TextField>
      <TextField size="small" type="password" autoComplete="off" label="API key" value={key} onChange={(event) => setKey(event.target.value)} helperText={`Tested with one small call, then written to .env as ${chosen?.variable ?? "a variable"}, readable by TARSy’s account alone.`} fullWidth />
      {save.error && <Failure what="The key was not tried." error={save.error} />}
      {save.data && <OutcomeLine outcome={save.data} />}
      <Button type="submit" variant="contained" disabled={key.trim() === ""} loading={save.isPending}>
        Test and save
      </Button>
    </Stack>
  );
}

function LocalForm() {
  const client = useQueryClient();
  const [url, setUrl] = useState("http://localhost:11434/v1");
  const [model, setModel] = useState("");
  const find = useMutation({ mutationFn: () => findModels(url), onSuccess: (found) => setModel(found.models[0] ?? "") });
  const save = useMutation({ mutationFn: (base: string) => setUpLocalModel(base, model), onSuccess: () => client.invalidateQueries() });
  const found = find.data;
  return (
    <Stack
      component="form"
      spacing={2}
      sx={{ alignItems: "flex-start", maxWidth: 560 }}
      onSubmit={(event) => {
        event.preventDefault();
        if (found) save.mutate(found.base_url);
        else find.mutate();
      }}
    >
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
      {find.error && <Failure what="No model was found." error={find.error} />}
      {found && (
        <TextField select size="small" label="Model" value={model} onChange={(event) => setModel(event.target.value)} helperText={`Found at ${found.base_url}.`} fullWidth>
          {found.models.map((name) => (
            <MenuItem key={name} value={name}>
              {name}
            </MenuItem>
          ))}
        </TextField>
      )}
      {save.error && <Failure what="The model was not tried." error={save.error} />}
      {save.data && <OutcomeLine outcome={save.data} />}
      <Button type="submit" variant="contained" disabled={url.trim() === ""} loading={find.isPending || save.isPending}>
        {found ? "Test and save" : "Find models"}
      </Button>
    </Stack>
  );
}
