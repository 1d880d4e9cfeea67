/** Pure module: choosing tool servers and tools. A server without a list of tools stands for all of them. */
import type { McpSelection } from "@/wire/types";

export function isServerChosen(selection: McpSelection, server: string): boolean {
  return selection.servers.some((chosen) => chosen.name === server);
}

export function isToolChosen(selection: McpSelection, server: string, tool: string): boolean {
  const chosen = selection.servers.find((entry) => entry.name === server);
  return chosen !== undefined && (!chosen.tools || chosen.tools.includes(tool));
}

export function toggleServer(selection: McpSelection, server: string): McpSelection {
  const servers = isServerChosen(selection, server)
    ? selection.servers.filter((chosen) => chosen.name !== server)
    : [...selection.servers, { name: server, tools: null }];
  return { ...selection, servers };
}

export function toggleTool(selection: McpSelection, server: string, tool: string, all: readonly string[]): McpSelection {
  const servers = selection.servers.map((chosen) => {
    if (chosen.name !== server) return chosen;
    const before = chosen.tools ?? [...all];
    const after = before.includes(tool) ? before.filter((name) => name !== tool) : [...before, tool];
    return { name: server, tools: after.length === all.length ? null : after };
  });
  return { ...selection, servers };
}
