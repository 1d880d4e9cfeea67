/** The tool servers: their state and their tools. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleDashed, CircleX } from "lucide-react";
import { mcpServers } from "@/api/system";
import type { BadgeStyle } from "@/components/badge";
import { Badge } from "@/components/badge";
import { plural } from "@/components/format";
import { Loaded, Nothing } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import type { MCPServerItem, ServerState } from "@/wire/types";

const STATES = {
  connected: { label: "Connected", tone: "good", icon: CircleCheck },
  failed: { label: "Failed", tone: "bad", icon: CircleX },
  unknown: { label: "Not used yet", tone: "neutral", icon: CircleDashed },
} satisfies Record<ServerState, BadgeStyle>;

export function Servers() {
  return (
    <Loaded query={useQuery(mcpServers)} what="the tool servers" failure="The tool servers could not be loaded.">
      {({ servers }) =>
        servers.length === 0 ? (
          <Nothing title="No tool server is in use">Name MCP servers in tarsy.yaml and give them to a chain; the configuration below shows the ones that are known.</Nothing>
        ) : (
          servers.map((server) => <Server key={server.name} server={server} />)
        )
      }
    </Loaded>
  );
}

function Server({ server }: { server: MCPServerItem }) {
  return (
    <Box sx={{ px: 2, py: 1.25, borderTop: 1, borderColor: "divider", "&:first-of-type": { borderTop: 0 } }}>
      <Box sx={{ display: "flex", alignItems: "baseline", gap: 1.5, flexWrap: "wrap" }}>
        <Typography variant="h3">{server.name}</Typography>
        <Typography variant="body2" component="span">
          <Badge badge={STATES[server.state]} />
        </Typography>
        <Typography variant="caption" color="textSecondary">
          {server.transport}
          {server.checked_at && (
            <>
              {" · checked "}
              <RelativeTime at={server.checked_at} />
            </>
          )}
        </Typography>
      </Box>
      {server.error && (
        <Alert severity={server.state === "failed" ? "error" : "info"} variant="outlined" sx={{ mt: 1, overflowWrap: "anywhere" }}>
          {server.error}
        </Alert>
      )}
      {server.pin_problem && (
        <Alert severity="warning" variant="outlined" sx={{ mt: 1, overflowWrap: "anywhere" }}>
          {server.pin_problem}
        </Alert>
      )}
      {Object.keys(server.needs_approval).length > 0 && (
        <Alert severity="info" variant="outlined" sx={{ mt: 1, overflowWrap: "anywhere" }}>
          Calls of {plural(Object.keys(server.needs_approval).length, "tool")} wait for a person&apos;s approval.
          <Box component="ul" sx={{ m: 0, pl: 2 }}>
            {Object.entries(server.needs_approval).map(([name, reason]) => (
              <li key={name}>
                <code>{name}</code>: {reason}
              </li>
            ))}
          </Box>
        </Alert>
      )}
      {server.tools.length > 0 && (
        <Box component="details" sx={{ mt: 0.5 }}>
          <Box component="summary" sx={{ cursor: "pointer", fontSize: "0.85rem" }}>
            {plural(server.tools.length, "tool")}
          </Box>
          <Box component="dl" sx={{ m: 0, mt: 0.5 }}>
            {server.tools.map((tool) => (
              <Box key={tool.name} sx={{ py: 0.5 }}>
                <Typography component="dt" sx={{ fontFamily: MONO, fontSize: "0.8rem", fontWeight: 600 }}>
                  {tool.name}
                </Typography>
                <Typography component="dd" variant="body2" color="textSecondary" sx={{ m: 0 }}>
                  {tool.description}
                </Typography>
              </Box>
            ))}
          </Box>
        </Box>
      )}
    </Box>
  );
}
