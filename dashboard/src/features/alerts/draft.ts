/** An alert that is being written, and its selection of tools. A server without a list of tools means all of its tools. */
import type { AlertRequest, McpSelection, Sample, SessionDetail } from "@/wire/types";

export interface Draft {
  text: string;
  /** Null for the default type. */
  alertType: string | null;
  runbook: string;
  /** Null for the chain's own tools. */
  servers: McpSelection | null;
}

export const EMPTY_DRAFT: Draft = { text: "", alertType: null, runbook: "", servers: null };

/** Whether a stored value is a draft. */
export function isDraft(value: unknown): value is Draft {
  if (typeof value !== "object" || value === null) return false;
  const { text, alertType, runbook, servers } = value as Partial<Record<keyof Draft, unknown>>;
  return typeof text === "string" && typeof runbook === "string" && (alertType === null || typeof alertType === "string") && typeof servers === "object";
}

export function draftOf(session: SessionDetail): Draft {
  return {
    text: session.alert_data,
    alertType: session.alert_type,
    runbook: session.runbook_url ?? "",
    servers: session.mcp_selection,
  };
}

export function draftOfSample({ alert_data: text, alert_type: alertType }: Sample): Draft {
  return { ...EMPTY_DRAFT, text, alertType };
}

export function problemsOf(draft: Draft): { text?: string; runbook?: string; tools?: string } {
  const runbook = draft.runbook.trim();
  const tools = selectionProblem(draft.servers);
  return {
    ...(draft.text.trim() === "" ? { text: "An alert needs some text." } : {}),
    ...(runbook !== "" && !/^https?:\/\/\S+$/.test(runbook) ? { runbook: "A runbook is an http or https address." } : {}),
    ...(tools === null ? {} : { tools }),
  };
}

export function requestOf(draft: Draft): AlertRequest {
  const runbook = draft.runbook.trim();
  const alertType = draft.alertType?.trim() ?? "";
  return {
    data: draft.text,
    alert_type: alertType === "" ? null : alertType,
    runbook: runbook === "" ? null : runbook,
    mcp: draft.servers,
    // Null for that of the chain.
    budget: null,
    slack_message_fingerprint: null,
  };
}

export function isServerSelected(selection: McpSelection, server: string): boolean {
  return selection.servers.some((chosen) => chosen.name === server);
}

export function isToolSelected(selection: McpSelection, server: string, tool: string): boolean {
  const chosen = selection.servers.find((entry) => entry.name === server);
  return chosen !== undefined && (!chosen.tools || chosen.tools.includes(tool));
}

export function toggleServer(selection: McpSelection, server: string): McpSelection {
  const servers = isServerSelected(selection, server)
    ? selection.servers.filter((chosen) => chosen.name !== server)
    : [...selection.servers, { name: server, tools: null }];
  return { ...selection, servers };
}

export function toggleTool(selection: McpSelection, server: string, tool: string, all: readonly string[]): McpSelection {
  const before = selection.servers.find((chosen) => chosen.name === server)?.tools ?? all;
  const after = before.includes(tool) ? before.filter((name) => name !== tool) : [...before, tool];
  return withTools(selection, server, after.length === all.length ? null : after);
}

/** Null for all tools. */
export function withTools(selection: McpSelection, server: string, tools: string[] | null): McpSelection {
  return { ...selection, servers: selection.servers.map((chosen) => (chosen.name === server ? { name: server, tools } : chosen)) };
}

/** Why the server would reject the selection; null if it would not. */
export function selectionProblem(selection: McpSelection | null): string | null {
  if (selection === null) return null;
  if (selection.servers.length === 0) return "Choose at least one tool server, or use the chain's own tools.";
  const empty = selection.servers.find((server) => server.tools?.length === 0);
  return empty ? `Choose at least one tool of ${empty.name}, or leave ${empty.name} out.` : null;
}
