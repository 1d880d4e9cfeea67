/** The arguments of a tool call, and a selection of tools, each on one line. */
import type { McpSelection } from "@/wire/types";

const LONGEST = 120;

/** `{"namespace": "shop"}` becomes `namespace=shop`, even if the end of the JSON is missing. Other text is returned on one line. */
export function formatArguments(json: string): string {
  const line = formatPairs(json) ?? formatTruncated(json) ?? json.replace(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}

function formatPairs(json: string): string | null {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    return Object.entries(value)
      .map(([name, argument]) => `${name}=${typeof argument === "string" ? argument : JSON.stringify(argument)}`)
      .join(" ");
  } catch {
    return null;
  }
}

/** The list of calls has only the start of their arguments, cut inside a string, inside a list, or between arguments. */
function formatTruncated(json: string): string | null {
  const completed = [`${json}"}`, `${json}}`, `${json}"]}`, `${json}]}`, `${json.slice(0, json.lastIndexOf(","))}}`];
  const line = completed.map(formatPairs).find((pairs) => pairs !== null);
  return line === undefined ? null : `${line}…`;
}

/** "cluster (pods_list, pods_log), loki" */
export function formatSelection(selection: McpSelection): string {
  return selection.servers.map(({ name, tools }) => (tools ? `${name} (${tools.join(", ")})` : name)).join(", ") || "none";
}
