/** The status of a session as a reader asks for it: its verdict once it has ended, and before that what it does or waits for. */
import Box from "@mui/material/Box";
import { CircleHelp, Unplug } from "lucide-react";
import type { BadgeStyle } from "@/components/badge";
import { Badge } from "@/components/badge";
import { plainText } from "@/components/plain-text";
import type { SessionStatus } from "@/wire/types";
import { hasEnded, partialNotice, SESSION_BADGES } from "./statuses";
import type { JudgedOutcome } from "./verdict";
import { outcomeBadge } from "./verdict";

const WAITING_FOR_MODEL: BadgeStyle = { label: "Waiting for the model", tone: "warning", icon: Unplug };
const NO_VERDICT: BadgeStyle = { label: "No verdict", tone: "neutral", icon: CircleHelp };

interface Judged {
  status: SessionStatus;
  verdict: JudgedOutcome | null;
  waiting_for_model?: boolean;
  analysis_is_partial?: boolean;
  analysis_partial_reason?: string | null;
}

export function statusBadge({ status, verdict, waiting_for_model: waiting = false }: Judged): BadgeStyle {
  if (!hasEnded(status)) return waiting ? WAITING_FOR_MODEL : SESSION_BADGES[status];
  if (verdict) return outcomeBadge(verdict);
  return status === "completed" ? NO_VERDICT : SESSION_BADGES[status];
}

export function statusLabel(session: Judged): string {
  const { label } = statusBadge(session);
  return session.analysis_is_partial ? `${label}, partial` : label;
}

export function StatusBadge({ session }: { session: Judged }) {
  return (
    <>
      <Badge badge={statusBadge(session)} />
      {session.analysis_is_partial && (
        <Box component="span" title={partialNotice(session.analysis_partial_reason)} sx={{ ml: 0.75, px: 0.75, border: 1, borderColor: "divider", borderRadius: 1, color: "text.secondary", fontSize: "0.75rem", lineHeight: 1.5, whiteSpace: "nowrap" }}>
          partial
        </Box>
      )}
    </>
  );
}

/** What a session found, as one line; null if it found nothing. */
export function findingOf({ executive_summary: summary, verdict }: { executive_summary: string | null; verdict?: { mechanism: string } | null }): string | null {
  return plainText(summary ?? verdict?.mechanism ?? "") || null;
}
