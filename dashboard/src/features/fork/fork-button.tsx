/** A button that forks an investigation at a call; where that cannot be done, it says why. */
import Button from "@mui/material/Button";
import Tooltip from "@mui/material/Tooltip";
import { useQuery } from "@tanstack/react-query";
import { GitFork } from "lucide-react";
import { useState } from "react";
import { models } from "@/api/forks";
import { sessionDetail } from "@/api/sessions";
import { forkRefusal, WITHIN_STEP } from "@/presentation/fork-place";
import { ForkDialog } from "./fork-dialog";

interface ForkButtonProps {
  sessionId: string;
  executionId: string;
  /** Null for a call that began no step. */
  turn: number | null;
  onForked: (sessionId: string) => void;
}

export function ForkButton({ sessionId, executionId, turn, onForked }: ForkButtonProps) {
  const [open, setOpen] = useState(false);
  const { data: session } = useQuery(sessionDetail(sessionId));
  const { data } = useQuery(models);
  if (!session || !data || data.models.length === 0) return null;
  const refusal = forkRefusal(session, executionId) ?? (turn === null ? WITHIN_STEP : null);
  return (
    <>
      <Tooltip title={refusal ?? ""} describeChild enterTouchDelay={0}>
        <Button size="small" startIcon={<GitFork size={15} />} aria-disabled={refusal !== null} onClick={() => setOpen(refusal === null)} sx={refusal === null ? {} : { color: "text.disabled", cursor: "not-allowed" }}>
          Fork from here
        </Button>
      </Tooltip>
      {open && turn !== null && <ForkDialog session={session} ask={{ executionId, turn }} onClose={() => setOpen(false)} onForked={onForked} />}
    </>
  );
}
