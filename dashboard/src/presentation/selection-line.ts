/** Pure module: a choice of tools in one line. */
import type { McpSelection } from "@/wire/types";

/** "cluster (pods_list, pods_log), loki" */
export function selectionLine(selection: McpSelection): string {
  return selection.servers.map(({ name, tools }) => (tools ? `${name} (${tools.join(", ")})` : name)).join(", ") || "none";
}
