/** Selects the tool servers, and their tools, that an investigation may use. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Checkbox from "@mui/material/Checkbox";
import FormControlLabel from "@mui/material/FormControlLabel";
import Paper from "@mui/material/Paper";
import Radio from "@mui/material/Radio";
import RadioGroup from "@mui/material/RadioGroup";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { defaultTools } from "@/api/alerts";
import { mcpServers } from "@/api/system";
import { plural } from "@/components/format";
import { Failure } from "@/components/states";
import { MONO } from "@/components/text-styles";
import type { McpSelection, MCPServerItem } from "@/wire/types";
import { isServerSelected, isToolSelected, toggleServer, toggleTool, withTools } from "./draft";

interface ToolSelectionProps {
  alertType: string;
  value: McpSelection | null;
  problem: string | undefined;
  onChange: (value: McpSelection | null) => void;
}

export function ToolSelection({ alertType, value, problem, onChange }: ToolSelectionProps) {
  const known = useQuery(mcpServers);
  const defaults = useQuery(defaultTools);
  const servers = known.data?.servers ?? [];
  const own = defaults.data?.defaults.find((entry) => entry.alert_type === alertType)?.servers ?? [];
  const choose = (mode: string) => onChange(mode === "own" ? null : { servers: own.map((name) => ({ name, tools: null })), native_tools: null });
  return (
    <Box>
      <Typography variant="h3" component="h2">
        Tools
      </Typography>
      <RadioGroup row value={value === null ? "own" : "chosen"} onChange={(_, mode) => choose(mode)} aria-label="Tools">
        <FormControlLabel value="own" control={<Radio size="small" />} label={`The chain's own tools${own.length > 0 ? ` (${own.join(", ")})` : ""}`} />
        <FormControlLabel value="chosen" control={<Radio size="small" />} label="Choose" disabled={servers.length === 0} />
      </RadioGroup>
      {value !== null && (
        <Box sx={{ display: "grid", gap: 1, mt: 0.5 }}>
          {servers.map((server) => (
            <Server key={server.name} {...{ server, value, onChange }} />
          ))}
        </Box>
      )}
      {known.error && <Failure what="The tool servers could not be loaded." error={known.error} onRetry={() => void known.refetch()} />}
      {defaults.error && <Failure what="The chain's own tools could not be loaded." error={defaults.error} onRetry={() => void defaults.refetch()} />}
      {problem && (
        <Alert severity="error" sx={{ mt: 1 }}>
          {problem}
        </Alert>
      )}
    </Box>
  );
}

interface ServerProps {
  server: MCPServerItem;
  value: McpSelection;
  onChange: (value: McpSelection) => void;
}

function Server({ server, value, onChange }: ServerProps) {
  const chosen = isServerSelected(value, server.name);
  const all = server.tools.map((tool) => tool.name);
  const count = all.filter((tool) => isToolSelected(value, server.name, tool)).length;
  return (
    <Paper variant="outlined" role="group" aria-label={server.name} sx={{ px: 1.5, py: 0.5 }}>
      <Box sx={{ display: "flex", alignItems: "center", flexWrap: "wrap", columnGap: 1 }}>
        <FormControlLabel
          control={<Checkbox size="small" checked={chosen} onChange={() => onChange(toggleServer(value, server.name))} />}
          label={<strong>{server.name}</strong>}
        />
        <Typography variant="caption" color="textSecondary" sx={{ flex: 1 }}>
          {chosen && all.length > 0 ? `${count} of ${plural(all.length, "tool")}` : stateOf(server)}
        </Typography>
        {chosen && all.length > 0 && (
          <>
            <Button size="small" disabled={count === all.length} onClick={() => onChange(withTools(value, server.name, null))}>
              All
            </Button>
            <Button size="small" disabled={count === 0} onClick={() => onChange(withTools(value, server.name, []))}>
              None
            </Button>
          </>
        )}
      </Box>
      {chosen && all.length > 0 && (
        <Box sx={{ pl: 3.5, pb: 0.5, display: "grid", gridTemplateColumns: "repeat(auto-fill, minmax(210px, 1fr))" }}>
          {server.tools.map((tool) => (
            <FormControlLabel
              key={tool.name}
              title={tool.description}
              control={<Checkbox size="small" sx={{ py: 0.25 }} checked={isToolSelected(value, server.name, tool.name)} onChange={() => onChange(toggleTool(value, server.name, tool.name, all))} />}
              label={<Box component="span" sx={{ fontFamily: MONO, fontSize: "0.8rem", overflowWrap: "anywhere" }}>{tool.name}</Box>}
            />
          ))}
        </Box>
      )}
    </Paper>
  );
}

function stateOf(server: MCPServerItem): string {
  if (server.tools.length > 0) return plural(server.tools.length, "tool");
  return server.error ?? "its tools are not known yet";
}
