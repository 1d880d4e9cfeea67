/** The link to the approvals with the number of calls that wait, and a notification for each new one while the page is hidden. */
import Box from "@mui/material/Box";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import { APPROVALS_KEY, pendingApprovals } from "@/api/approvals";
import { useThrottledRefetch } from "@/api/refetch";
import { plural } from "@/components/format";
import { BareLink } from "@/components/links";
import { useChannel } from "@/live/connection";
import { notify } from "@/presentation/watched-sessions";

// Limits requests when many sessions end at once.
const REFETCH_EVERY_MS = 1_000;

export function ApprovalsLink({ sx }: Pick<ComponentProps<typeof BareLink>, "sx">) {
  const navigate = useNavigate();
  const refetch = useThrottledRefetch([APPROVALS_KEY], REFETCH_EVERY_MS);
  const waiting = useQuery(pendingApprovals).data?.approvals.length ?? 0;
  useChannel("sessions", (message) => {
    // A call also expires when its session ends.
    if (!["approval.changed", "session.completed", "subscription.confirmed", "catchup.overflow"].includes(message.type)) return;
    refetch();
    if (message.type === "approval.changed" && message.state === "pending" && document.hidden) {
      notify(`Waits for approval: ${message.server}.${message.tool}`, message.approval_id, () => void navigate({ to: "/approvals" }));
    }
  });
  return (
    <BareLink to="/approvals" sx={sx ?? {}} title={waiting > 0 ? `${plural(waiting, "call")} waiting` : undefined}>
      Approvals{" "}
      {waiting > 0 && (
        <Box component="span" sx={{ ml: 0.5, px: 0.75, borderRadius: 2, bgcolor: "warning.main", color: "warning.contrastText", fontSize: "0.75rem" }}>
          {waiting}
        </Box>
      )}
    </BareLink>
  );
}
