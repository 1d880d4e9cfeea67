/** Setting TARSy up, step by step; each can be skipped and found again here. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { Check } from "lucide-react";
import { setup } from "@/api/setup";
import { LinkButton } from "@/components/links";
import { Section } from "@/components/section";
import { Failure, Loading } from "@/components/states";
import { useTitle } from "@/components/title";
import type { SetupState } from "@/wire/types";
import { AlertStep } from "./alert-step";
import { CodeGate } from "./code-gate";
import { ModelStep } from "./model-step";
import { SampleStep } from "./sample-step";
import type { Step } from "./steps";
import { after, isDone, needsCode, STEPS, titleOf } from "./steps";
import { ToolsStep } from "./tools-step";

export function SetupPage({ step, onStep }: { step: Step; onStep: (step: Step) => void }) {
  useTitle("Set up");
  const { data, error, refetch } = useQuery(setup);
  const next = after(step);
  if (error) return <Failure what="The setup page could not be loaded." error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading what="the setup page" />;
  return (
    <Stack spacing={2} sx={{ maxWidth: 900, mx: "auto" }}>
      <Typography variant="h1">Set up TARSy</Typography>
      <Box component="nav" aria-label="Steps">
        <Stack component="ol" direction="row" sx={{ listStyle: "none", p: 0, m: 0, gap: 1, flexWrap: "wrap" }}>
          {STEPS.map((one, index) => (
            <li key={one.name}>
              <Button size="small" variant={one.name === step ? "contained" : "outlined"} aria-current={one.name === step ? "step" : undefined} endIcon={isDone(one.name, data) && <Check size={15} aria-label="done" />} onClick={() => onStep(one.name)}>
                {index + 1}. {one.title}
              </Button>
            </li>
          ))}
        </Stack>
      </Box>
      <Section title={titleOf(step)}>{needsCode(step) && !data.open ? <CodeGate hasCode={data.has_code} /> : <Body step={step} state={data} />}</Section>
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

function Body({ step, state }: { step: Step; state: SetupState }) {
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
