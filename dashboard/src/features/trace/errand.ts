/** Pure module: what an agent was sent for, read from the call that sent it. */
import { RUN_AGENT } from "@/presentation/agent-tree";
import type { MCPCallDetail } from "@/wire/types";

export interface Errand {
  agent: string;
  task: string;
  /** The ids of results that it was given to read. */
  given: readonly string[];
}

/** Null: the call sent no agent, or was not made as it should be. */
export function errandOf(call: Pick<MCPCallDetail, "server" | "tool" | "arguments">): Errand | null {
  if (call.server !== "tarsy" || call.tool !== RUN_AGENT) return null;
  const read = parsed(call.arguments ?? "");
  if (typeof read?.["name"] !== "string" || typeof read["task"] !== "string") return null;
  const given = read["context_ids"];
  return { agent: read["name"], task: read["task"], given: Array.isArray(given) ? given.map(String) : [] };
}

function parsed(json: string): Record<string, unknown> | null {
  try {
    return JSON.parse(json) as Record<string, unknown> | null;
  } catch {
    return null;
  }
}
