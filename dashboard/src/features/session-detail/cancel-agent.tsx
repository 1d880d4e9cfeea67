/** Stops one agent; the others of its stage go on. */
import Button from "@mui/material/Button";
import { Ban } from "lucide-react";
import type { ExecutionView } from "@/wire/types";

export function CancelAgent({ execution, onCancel }: { execution: ExecutionView; onCancel: (executionId: string) => void }) {
  if (execution.status !== "active" && execution.status !== "pending") return null;
  return (
    <Button size="small" color="inherit" startIcon={<Ban size={14} />} disabled={execution.cancel_requested} onClick={() => onCancel(execution.id)}>
      {execution.cancel_requested ? "Stopping…" : `Stop ${execution.agent_name}`}
    </Button>
  );
}
