/** Runs a first investigation, of a sample incident. */
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { samples, submitAlert } from "@/api/alerts";
import { setup } from "@/api/system";
import { LinkButton, TextLink } from "@/components/links";
import { Failure, Loaded } from "@/components/states";
import { Allowed } from "@/presentation/allowed";
import type { Sample } from "@/wire/types";

// The page for new alerts has all of them.
const OFFERED = 3;

export function SampleStep() {
  const query = useQuery(samples);
  const client = useQueryClient();
  const run = useMutation({
    mutationFn: ({ alert_data: data, alert_type }: Sample) =>
      submitAlert({ data, alert_type, runbook: null, mcp: null, budget: null, slack_message_fingerprint: null }),
    onSuccess: () => client.invalidateQueries({ queryKey: setup.queryKey }),
  });
  return (
    <Loaded query={query} what="sample incidents" failure="The samples could not be loaded.">
      {({ samples: listed }) => (
        <Stack spacing={1.5} sx={{ alignItems: "flex-start" }}>
          <Typography variant="body2">
            {listed.some((sample) => sample.recorded) ? "The cluster is simulated and the model’s answers are recorded: no key, no cluster, no cost." : "The cluster is simulated, the model is yours: each run costs what your model costs."}
          </Typography>
          {listed.slice(0, OFFERED).map((sample) => (
            <Allowed key={sample.name} operation="submitAlert">
              <Button variant="outlined" startIcon={<Play size={15} />} loading={run.isPending && run.variables.alert_type === sample.alert_type} disabled={run.isPending} sx={{ textAlign: "left" }} onClick={() => run.mutate(sample)}>
                {sample.title}
              </Button>
            </Allowed>
          ))}
          {run.error && <Failure what="The sample was not accepted." error={run.error} />}
          {run.data && (
            <LinkButton to="/sessions/$sessionId" params={{ sessionId: run.data.session_id }} variant="contained">
              Watch the investigation
            </LinkButton>
          )}
          <Typography variant="body2">
            More: <TextLink to="/alerts/new">all sample incidents</TextLink>.
          </Typography>
        </Stack>
      )}
    </Loaded>
  );
}
