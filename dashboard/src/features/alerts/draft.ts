/** Pure module: an alert that is being written. */
import type { AlertRequest, McpSelection, SessionDetail } from "@/wire/types";
import { selectionProblem } from "./selection";

export interface Draft {
  text: string;
  /** Null: the one that is taken by default. */
  alertType: string | null;
  runbook: string;
  /** Null: the chain's own tools. */
  servers: McpSelection | null;
}

export const EMPTY_DRAFT: Draft = { text: "", alertType: null, runbook: "", servers: null };

/** Whether this is a draft as it was stored, by this version or one that knew the same. */
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
    // Its chain's own.
    budget: null,
  };
}
