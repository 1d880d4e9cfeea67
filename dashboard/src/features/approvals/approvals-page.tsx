/** The tool calls of all sessions that wait for a person. */
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { pendingApprovals } from "@/api/approvals";
import { TextLink } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { Loaded, Nothing } from "@/components/states";
import { ApprovalCard } from "@/presentation/approval-card";

export function ApprovalsPage() {
  usePageTitle("Approvals");
  return (
    <Stack spacing={2}>
      <Stack direction="row" sx={{ justifyContent: "space-between", alignItems: "center", flexWrap: "wrap", gap: 2 }}>
        <Typography variant="h1">Approvals</Typography>
        <NotifyButton />
      </Stack>
      <Loaded query={useQuery(pendingApprovals)} what="the approvals" failure="The approvals could not be loaded.">
        {({ approvals }) =>
          approvals.length === 0 ? (
            <Nothing title="No call waits for an approval">Tools that may change something ask before each call.</Nothing>
          ) : (
            approvals.map((approval) => (
              <ApprovalCard key={approval.id} approval={approval}>
                <TextLink variant="body2" to="/sessions/$sessionId" params={{ sessionId: approval.session_id }} search={{}}>
                  Open the session
                </TextLink>
              </ApprovalCard>
            ))
          )
        }
      </Loaded>
    </Stack>
  );
}

/** Asks the browser for the permission to notify, once. */
function NotifyButton() {
  const [permission, setPermission] = useState("Notification" in window ? Notification.permission : "denied");
  if (permission !== "default") return null;
  return (
    <Button size="small" color="inherit" onClick={() => void Notification.requestPermission().then(setPermission)}>
      Notify me of new calls
    </Button>
  );
}
