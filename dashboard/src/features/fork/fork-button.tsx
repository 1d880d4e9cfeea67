/** A button that forks an investigation at a call; it is there only where that can be done. */
import Button from "@mui/material/Button";
import { useQuery } from "@tanstack/react-query";
import { GitFork } from "lucide-react";
import { useState } from "react";
import { models } from "@/api/forks";
import { sessionDetail } from "@/api/sessions";
import { forkable } from "@/presentation/fork-place";
import { ForkDialog } from "./fork-dialog";

interface ForkButtonProps {
  sessionId: string;
  executionId: string;
  turn: number;
  onForked: (sessionId: string) => void;
}

export function ForkButton({ sessionId, executionId, turn, onForked }: ForkButtonProps) {
  const [open, setOpen] = useState(false);
  const { data: session } = useQuery(sessionDetail(sessionId));
  const { data } = useQuery(models);
  if (!session || !data || data.models.length === 0 || !forkable(session).has(executionId)) return null;
  return (
    <>
      <Button size="small" startIcon={<GitFork size={15} />} onClick={() => setOpen(true)}>
        Fork from here
      </Button>
      {open && <ForkDialog session={session} ask={{ executionId, turn }} onClose={() => setOpen(false)} onForked={onForked} />}
    </>
  );
}
