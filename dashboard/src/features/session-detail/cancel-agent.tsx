/** Stops one agent; the others of its stage go on. */
import Button from "@mui/material/Button";
import { Ban } from "lucide-react";
import type { ExecutionView } from "@/wire/types";

interface CancelAgentProps {
  execution: ExecutionView;
  /** Its name stands right beside. */
  brief?: boolean;
  onCancel: (executionId: string) => void;
}

export function CancelAgent({ execution, brief = false, onCancel }: CancelAgentProps) {
  if (execution.status !== "active" && execution.status !== "pending") return null;
  return (
    <Button size="small" color="inherit" startIcon={<Ban size={14} />} disabled={execution.cancel_requested} onClick={() => onCancel(execution.id)} aria-label={execution.cancel_requested ? undefined : `Stop ${execution.agent_name}`}>
      {execution.cancel_requested ? "Stopping…" : brief ? "Stop" : `Stop ${execution.agent_name}`}
    </Button>
  );
}
