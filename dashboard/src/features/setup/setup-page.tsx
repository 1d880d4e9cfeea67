/** Sets TARSy up in steps, each of which can be skipped. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { useState } from "react";
import { openSetup, setup } from "@/api/system";
import { Form } from "@/components/fields";
import { LinkButton } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { Section } from "@/components/section";
import { Failure, Loading } from "@/components/states";
import { MONO } from "@/components/text-styles";
import type { SetupState } from "@/wire/types";
import { AlertStep } from "./alert-step";
import { ModelStep, ToolsStep } from "./connect-steps";
import { SampleStep } from "./sample-step";

const route = getRouteApi("/setup");

export function SetupPage() {
  const step = readStep(route.useSearch().step);
  const navigate = route.useNavigate();
  const onStep = (next: Step) => void navigate({ search: { step: next } });
  usePageTitle("Set up");
  const { data, error, refetch } = useQuery(setup);
  const next = nextStep(step);
  // Not for a failed refetch: a key that was typed meanwhile must not be lost.
  if (!data) return error ? <Failure what="The setup page could not be loaded." error={error} onRetry={() => void refetch()} /> : <Loading what="the setup page" />;
  return (
    <Stack spacing={2} sx={{ maxWidth: 900, mx: "auto" }}>
      <Typography variant="h1">Set up TARSy</Typography>
      <Box component="nav" aria-label="Steps">
        <Stack component="ol" direction="row" sx={{ listStyle: "none", p: 0, m: 0, gap: 1, flexWrap: "wrap" }}>
          {STEPS.map(({ name, title }, index) => (
            <li key={name}>
              <Button size="small" variant={name === step ? "contained" : "outlined"} aria-current={name === step ? "step" : undefined} endIcon={isDone(name, data) && <Check size={15} aria-label="done" />} onClick={() => onStep(name)}>
                {index + 1}. {title}
              </Button>
            </li>
          ))}
        </Stack>
      </Box>
      <Section title={titleOf(step)}>{needsCode(step) && !data.open ? <CodeForm hasCode={data.has_code} /> : <StepContent step={step} state={data} />}</Section>
      <Stack direction="row" sx={{ justifyContent: "space-between", alignItems: "center", gap: 2, flexWrap: "wrap" }}>
        <Typography variant="body2" color="textSecondary">
          {next ? "Every step can wait. " : ""}You find this page again under System.
        </Typography>
        {next ? (
          <Button variant="outlined" onClick={() => onStep(next)} sx={{ ml: "auto" }}>
            Next: {titleOf(next)}
          </Button>
        ) : (
          <LinkButton to="/" search={{}} variant="contained" sx={{ ml: "auto" }}>
            Done
          </LinkButton>
        )}
      </Stack>
    </Stack>
  );
}

function StepContent({ step, state }: { step: Step; state: SetupState }) {
  switch (step) {
    case "model":
      return <ModelStep state={state} />;
    case "tools":
      return <ToolsStep state={state} />;
    case "sample":
      return <SampleStep />;
    case "alert":
      return <AlertStep state={state} />;
  }
}

export const STEPS = [
  { name: "model", title: "Choose a model" },
  { name: "tools", title: "Connect your systems" },
  { name: "sample", title: "Run a sample" },
  { name: "alert", title: "Send a first alert" },
] as const;

type Step = (typeof STEPS)[number]["name"];

export function readStep(raw: unknown): Step {
  return STEPS.find((step) => step.name === raw)?.name ?? "model";
}

export function titleOf(step: Step): string {
  return STEPS.find(({ name }) => name === step)?.title ?? "";
}

/** Null after the last step. */
export function nextStep(step: Step): Step | null {
  return STEPS[STEPS.findIndex(({ name }) => name === step) + 1]?.name ?? null;
}

/** A sample and a first alert can be repeated, so these steps are never done. */
export function isDone(step: Step, { model, recipes }: Pick<SetupState, "model" | "recipes">): boolean {
  if (step === "model") return model !== null;
  return step === "tools" && recipes.some((recipe) => recipe.fields.every((field) => field.is_set));
}

/** Steps that write files on the server need the setup code. */
export function needsCode(step: Step): boolean {
  return step === "model" || step === "tools";
}

/** Asks for the code that the terminal showed. */
function CodeForm({ hasCode }: { hasCode: boolean }) {
  const client = useQueryClient();
  const [code, setCode] = useState("");
  const open = useMutation({ mutationFn: () => openSetup(code), onSettled: () => client.invalidateQueries({ queryKey: ["setup"] }) });
  if (!hasCode) {
    return (
      <Stack spacing={1}>
        {open.error && <Failure what="The code was not accepted." error={open.error} />}
        <Alert severity="info" variant="outlined">
          This step writes files on the server, so it asks for a code that only the terminal shows. Start <code>tarsy serve</code> again in a terminal to get one, or do this step by
          hand: the <Link href="/help/quickstart.md">quickstart</Link> has the commands.
        </Alert>
      </Stack>
    );
  }
  return (
    <Form spacing={2} sx={{ alignItems: "flex-start" }} onSubmit={open.mutate}>
      <Typography variant="body2">
        This step writes files on the server. To prove that you may change them, enter the code that <code>tarsy serve</code> printed in its terminal. It works once.
      </Typography>
      <TextField
        size="small"
        label="Setup code"
        value={code}
        onChange={(event) => setCode(event.target.value)}
        autoComplete="off"
        slotProps={{ htmlInput: { spellCheck: false, autoCapitalize: "characters", style: { fontFamily: MONO } } }}
      />
      {open.error && <Failure what="The code was not accepted." error={open.error} />}
      <Button type="submit" variant="contained" disabled={code.trim() === ""} loading={open.isPending}>
        Open
      </Button>
    </Form>
  );
}
