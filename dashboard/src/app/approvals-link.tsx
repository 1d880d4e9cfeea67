/** The link to the approvals with the number of calls that wait, and a notification for each new one while the page is hidden. */
import Box from "@mui/material/Box";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ComponentProps } from "react";
import { APPROVALS_KEY, pendingApprovals } from "@/api/approvals";
import { plural } from "@/components/format";
import { BareLink } from "@/components/links";
import { useChannel } from "@/live/connection";
import { useLiveRefetch } from "@/presentation/live-refetch";
import { notify } from "@/presentation/watched-sessions";

export function ApprovalsLink({ sx }: Pick<ComponentProps<typeof BareLink>, "sx">) {
  const navigate = useNavigate();
  const waiting = useQuery(pendingApprovals).data?.approvals.length ?? 0;
  // A call also expires when its session ends.
  useLiveRefetch("sessions", ({ type }) => type === "approval.changed" || type === "session.completed", [APPROVALS_KEY]);
  useChannel("sessions", (message) => {
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
