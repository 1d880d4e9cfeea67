/** Pure module: the arguments of a call, and a choice of tools, each on one line. */
import type { McpSelection } from "@/wire/types";

const LONGEST = 120;

/** `{"namespace": "shop"}` becomes `namespace=shop`, also if its end is missing; what is no object is shown as it is. */
export function argumentsLine(json: string): string {
  const line = pairs(json) ?? unfinished(json) ?? json.replace(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}

function pairs(json: string): string | null {
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

/** A list of calls has only the beginning of their arguments: cut within a text, within a list, or between two of them. */
function unfinished(json: string): string | null {
  const ended = [`${json}"}`, `${json}}`, `${json}"]}`, `${json}]}`, `${json.slice(0, json.lastIndexOf(","))}}`];
  const line = ended.map(pairs).find((one) => one !== null);
  return line === undefined ? null : `${line}…`;
}

/** "cluster (pods_list, pods_log), loki" */
export function selectionLine(selection: McpSelection): string {
  return selection.servers.map(({ name, tools }) => (tools ? `${name} (${tools.join(", ")})` : name)).join(", ") || "none";
}
