/** Which tool servers, and which of their tools, an investigation may use. */
import Box from "@mui/material/Box";
import Checkbox from "@mui/material/Checkbox";
import FormControlLabel from "@mui/material/FormControlLabel";
import Radio from "@mui/material/Radio";
import RadioGroup from "@mui/material/RadioGroup";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { defaultTools } from "@/api/alerts";
import { mcpServers } from "@/api/system";
import type { MCPServerItem, McpSelection } from "@/wire/types";
import { isServerChosen, isToolChosen, toggleServer, toggleTool } from "./selection";

interface ToolSelectionProps {
  alertType: string;
  value: McpSelection | null;
  onChange: (value: McpSelection | null) => void;
}

export function ToolSelection({ alertType, value, onChange }: ToolSelectionProps) {
  const servers = useQuery(mcpServers).data?.servers ?? [];
  const defaults = useQuery(defaultTools).data?.defaults.find((entry) => entry.alert_type === alertType);
  const own = defaults?.servers ?? [];
  const choose = (mode: string) => onChange(mode === "own" ? null : { servers: own.map((name) => ({ name, tools: null })), native_tools: null });
  return (
    <Box>
      <RadioGroup row value={value === null ? "own" : "chosen"} onChange={(_, mode) => choose(mode)} aria-label="Tools">
        <FormControlLabel value="own" control={<Radio size="small" />} label={`The chain's own tools${own.length > 0 ? ` (${own.join(", ")})` : ""}`} />
        <FormControlLabel value="chosen" control={<Radio size="small" />} label="Choose" disabled={servers.length === 0} />
      </RadioGroup>
      {value !== null && servers.map((server) => <Server key={server.name} {...{ server, value, onChange }} />)}
    </Box>
  );
}

function Server({ server, value, onChange }: { server: MCPServerItem; value: McpSelection; onChange: (value: McpSelection) => void }) {
  const chosen = isServerChosen(value, server.name);
  const all = server.tools.map((tool) => tool.name);
  return (
    <Box sx={{ borderTop: 1, borderColor: "divider", py: 0.5 }}>
      <FormControlLabel
        control={<Checkbox size="small" checked={chosen} onChange={() => onChange(toggleServer(value, server.name))} />}
        label={<strong>{server.name}</strong>}
      />
      {chosen && all.length > 0 && (
        <Box sx={{ pl: 3.5, display: "grid", gridTemplateColumns: "repeat(auto-fill, minmax(210px, 1fr))" }}>
          {server.tools.map((tool) => (
            <FormControlLabel
              key={tool.name}
              title={tool.description}
              control={<Checkbox size="small" sx={{ py: 0.25 }} checked={isToolChosen(value, server.name, tool.name)} onChange={() => onChange(toggleTool(value, server.name, tool.name, all))} />}
              label={<Typography variant="body2">{tool.name}</Typography>}
            />
          ))}
        </Box>
      )}
    </Box>
  );
}
