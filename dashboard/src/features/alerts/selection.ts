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
  const before = selection.servers.find((chosen) => chosen.name === server)?.tools ?? all;
  const after = before.includes(tool) ? before.filter((name) => name !== tool) : [...before, tool];
  return withTools(selection, server, after.length === all.length ? null : after);
}

/** Null: all of them. */
export function withTools(selection: McpSelection, server: string, tools: string[] | null): McpSelection {
  return { ...selection, servers: selection.servers.map((chosen) => (chosen.name === server ? { name: server, tools } : chosen)) };
}

/** Why the server would refuse it; null if it would not. */
export function selectionProblem(selection: McpSelection | null): string | null {
  if (selection === null) return null;
  if (selection.servers.length === 0) return "Choose at least one tool server, or take the chain's own tools.";
  const bare = selection.servers.find((server) => server.tools?.length === 0);
  return bare ? `Choose at least one tool of ${bare.name}, or leave ${bare.name} out.` : null;
}
