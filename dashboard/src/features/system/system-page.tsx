/** The state of the server: health, warnings, tool servers, queue and configuration. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleCheck, CircleX, RotateCw, TriangleAlert } from "lucide-react";
import { configYaml, health, reloadConfig, version, warnings } from "@/api/system";
import type { BadgeStyle } from "@/components/badge";
import { Badge } from "@/components/badge";
import { DataView } from "@/components/data-view";
import { LinkButton } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { Fact, Section } from "@/components/section";
import { Failure, Loaded } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import { Allowed } from "@/presentation/allowed";
import type { HealthReport, SystemWarningItem, WarningSource } from "@/wire/types";
import { Queue } from "./queue";
import { RefusedDeliveries } from "./refused-deliveries";
import { Servers } from "./servers";
import { Tokens } from "./tokens";

export function SystemPage() {
  usePageTitle("System");
  const client = useQueryClient();
  const reload = useMutation({ mutationFn: reloadConfig, onSuccess: () => client.invalidateQueries() });
  return (
    <Stack spacing={2}>
      <Stack direction="row" sx={{ justifyContent: "space-between", alignItems: "center", flexWrap: "wrap", columnGap: 2, rowGap: 0.5 }}>
        <Typography variant="h1">System</Typography>
        <Stack direction="row" sx={{ flexWrap: "wrap", gap: 1, ml: { xs: -0.5, sm: 0 } }}>
          <Allowed operation="reloadConfig">
            <Button size="small" startIcon={<RotateCw size={15} />} loading={reload.isPending} onClick={() => reload.mutate()}>
              Reload configuration
            </Button>
          </Allowed>
          <Allowed operation="listAuditEntries">
            <LinkButton to="/audit" search={{}} size="small">
              Audit log
            </LinkButton>
          </Allowed>
          <LinkButton to="/notifications" size="small">
            Notifications
          </LinkButton>
          <Allowed operation="openSetup">
            <LinkButton to="/setup" search={{}} size="small" variant="outlined">
              Set up
            </LinkButton>
          </Allowed>
        </Stack>
      </Stack>
      {reload.error && <Failure what="The configuration was not reloaded." error={reload.error} />}
      {reload.isSuccess && (
        <Alert severity="success" variant="outlined" role="status">
          The configuration was reloaded. Running sessions keep the one that they began with.
        </Alert>
      )}
      <Health />
      <Warnings />
      <Box sx={{ display: "grid", gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 1fr) minmax(0, 1fr)" }, gap: 2, alignItems: "start" }}>
        <Section title="Tool servers" flush>
          <Servers />
        </Section>
        <Section title="Queue and workers">
          <Queue />
        </Section>
      </Box>
      <Tokens />
      <RefusedDeliveries />
      <Section title="Effective configuration">
        <Configuration />
      </Section>
    </Stack>
  );
}

const HEALTH = {
  healthy: { label: "Healthy", tone: "good", icon: CircleCheck },
  degraded: { label: "Degraded", tone: "warning", icon: TriangleAlert },
  unhealthy: { label: "Unhealthy", tone: "bad", icon: CircleX },
} satisfies Record<HealthReport["status"], BadgeStyle>;

function Health() {
  const query = useQuery(health);
  const release = useQuery(version).data?.version;
  return (
    <Loaded query={query} what="the server's health" failure="The server's health is unknown.">
      {(report) => (
        <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: 4, rowGap: 1, m: 0 }}>
          <Fact name="TARSy">
            <Badge badge={HEALTH[report.status]} />
          </Fact>
          <Fact name="Version">{release ?? report.version}</Fact>
          {Object.entries(report.checks).map(([name, check]) => (
            <Fact key={name} name={titleOf(name)}>
              <Badge badge={HEALTH[check.status]} /> {check.message}
            </Fact>
          ))}
        </Box>
      )}
    </Loaded>
  );
}

/** The title of a check. The server may have checks that this page does not know. */
function titleOf(name: string): string {
  const words = name.replaceAll("_", " ").replace(/^llm\b/, "LLM");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const SOURCES = {
  config: "Configuration",
  mcp: "Tool server",
  sender: "Sender",
  workers: "Workers",
  queue: "Queue",
  model: "Model",
  upkeep: "Upkeep",
} satisfies Record<WarningSource, string>;

const WARNING: BadgeStyle = { label: "Warning", tone: "warning", icon: TriangleAlert };

function Warnings() {
  return (
    <Loaded query={useQuery(warnings)} failure="The warnings could not be loaded.">
      {({ warnings: found }) =>
        found.length > 0 && (
          <Section title={`Warnings (${found.length})`} flush>
            <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
              {found.map((warning) => (
                <Warning key={`${warning.source} ${warning.message}`} warning={warning} />
              ))}
            </Box>
          </Section>
        )
      }
    </Loaded>
  );
}

function Warning({ warning }: { warning: SystemWarningItem }) {
  return (
    <Box component="li" sx={{ display: "grid", gridTemplateColumns: { xs: "1fr", sm: "140px minmax(0, 1fr) auto" }, gap: { xs: 0.25, sm: 2 }, px: 2, py: 1, borderTop: 1, borderColor: "divider", "&:first-of-type": { borderTop: 0 } }}>
      <Typography variant="body2" component="div">
        <Badge badge={WARNING} label={SOURCES[warning.source]} />
      </Typography>
      <Typography variant="body2" sx={{ overflowWrap: "anywhere" }}>
        <WithCode text={warning.message} />
      </Typography>
      <Typography variant="caption" color="textSecondary">
        {warning.since && <RelativeTime at={warning.since} />}
      </Typography>
    </Box>
  );
}

function Configuration() {
  return (
    <Loaded query={useQuery(configYaml)} what="the configuration" failure="The configuration could not be loaded.">
      {(yaml) => <DataView text={yaml} label="Configuration" maxHeight={560} />}
    </Loaded>
  );
}

/** Renders text between backticks as code. */
function WithCode({ text }: { text: string }) {
  const parts = text.split("`");
  // A single backtick is just that.
  if (parts.length % 2 === 0) return text;
  return parts.map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <Box key={index} component="code" sx={{ fontFamily: MONO, fontSize: "0.85em", bgcolor: "code.inline", borderRadius: 0.5, px: 0.5 }}>
        {part}
      </Box>
    ),
  );
}
