/** A tool call that needs an approval, exactly as it is sent to its server, with the decision or the buttons for it. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleCheck, CircleHelp, CircleX, Clock, Hand } from "lucide-react";
import { createContext, useMemo } from "react";
import { APPROVALS_KEY, approveCall, rejectCall, sessionApprovals } from "@/api/approvals";
import { refetchChanged } from "@/api/refetch";
import type { BadgeStyle } from "@/components/badge";
import { Badge } from "@/components/badge";
import { DataView } from "@/components/data-view";
import { useTextDraft } from "@/components/draft";
import { Failure } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import type { Approval, ApprovalState, CallOutcome } from "@/wire/types";
import { Allowed } from "./allowed";

export const APPROVAL_STATES = {
  pending: { label: "Waits for approval", tone: "warning", icon: Hand },
  approved: { label: "Approved", tone: "good", icon: CircleCheck },
  rejected: { label: "Rejected", tone: "bad", icon: CircleX },
  expired: { label: "Expired", tone: "neutral", icon: Clock },
} satisfies Record<ApprovalState, BadgeStyle>;

const OUTCOMES: Record<CallOutcome, string> = {
  not_run: "It has not run.",
  running: "It is running.",
  ran: "It ran.",
  unknown: "Its outcome is unknown: it was interrupted, or did not answer in time. It is not repeated.",
};
const UNKNOWN: BadgeStyle = { label: "Outcome unknown", tone: "warning", icon: CircleHelp };

/** The calls of a session that needed an approval, by `approvalKey`. */
export const ApprovalsContext = createContext<ReadonlyMap<string, Approval>>(new Map());

export function approvalKey(executionId: string | null, callId: unknown): string {
  return `${executionId ?? ""}/${String(callId)}`;
}

/** The calls of a session that needed an approval. */
export function useSessionApprovals(sessionId: string): ReadonlyMap<string, Approval> {
  const { data } = useQuery(sessionApprovals(sessionId));
  return useMemo(() => new Map(data?.approvals.map((one) => [approvalKey(one.execution_id, one.call_id), one])), [data]);
}

export function ApprovalCard({ approval, children }: { approval: Approval; children?: React.ReactNode }) {
  const { state, outcome, server, tool, decided_by: decidedBy, decided_at: decidedAt, reason } = approval;
  return (
    <Box component="article" aria-label={`Approval of ${server}.${tool}`} sx={{ border: 1, borderColor: state === "pending" ? "warning.main" : "divider", borderRadius: 1, p: 1.5 }}>
      <Stack spacing={1}>
        <Stack direction="row" sx={{ flexWrap: "wrap", alignItems: "baseline", columnGap: 1.5 }}>
          <Typography variant="body2" component="span">
            <Badge badge={state === "approved" && outcome === "unknown" ? UNKNOWN : APPROVAL_STATES[state]} />
          </Typography>
          <Typography component="span" sx={{ fontFamily: MONO, fontSize: "0.85rem", fontWeight: 600, overflowWrap: "anywhere" }}>
            {server}.{tool}
          </Typography>
          <Typography variant="body2" color="textSecondary" component="span">
            {state === "pending" ? (
              <>
                expires <RelativeTime at={approval.expires_at} />
              </>
            ) : (
              <>
                {decidedBy && `by ${decidedBy} `}
                {decidedAt && <RelativeTime at={decidedAt} />}
                {`. ${OUTCOMES[outcome]}`}
              </>
            )}
          </Typography>
          {children}
        </Stack>
        <DataView text={approval.arguments} label="Arguments" maxHeight={240} />
        {reason && <Typography variant="body2">Reason: {reason}</Typography>}
        {state === "pending" && <Decision approval={approval} />}
      </Stack>
    </Box>
  );
}

function Decision({ approval }: { approval: Approval }) {
  const client = useQueryClient();
  // Kept: the card is removed from the page when its row is scrolled out of view.
  const [reason, setReason] = useTextDraft(`approval:${approval.id}`);
  const onSuccess = () => setReason("");
  const onSettled = () => refetchChanged(client, APPROVALS_KEY);
  const approve = useMutation({ mutationFn: () => approveCall(approval.id, reason), onSuccess, onSettled });
  const reject = useMutation({ mutationFn: () => rejectCall(approval.id, reason), onSuccess, onSettled });
  const deciding = approve.isPending || reject.isPending;
  const error = approve.error ?? reject.error;
  return (
    <>
      <Stack direction="row" sx={{ flexWrap: "wrap", alignItems: "center", gap: 1 }}>
        <TextField size="small" label="Reason (optional)" value={reason} onChange={(event) => setReason(event.target.value)} sx={{ flex: { xs: "1 1 100%", sm: "1 1 200px" } }} />
        <Allowed operation="approveCall">
          <Button variant="contained" size="small" disabled={deciding} onClick={() => approve.mutate()}>
            Approve
          </Button>
        </Allowed>
        <Allowed operation="rejectCall">
          <Button variant="outlined" size="small" color="error" disabled={deciding} onClick={() => reject.mutate()}>
            Reject
          </Button>
        </Allowed>
      </Stack>
      {error && <Failure what="The decision was not stored." error={error} />}
    </>
  );
}
