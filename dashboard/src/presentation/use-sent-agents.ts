/** Which of the agents that others sent are open in the timeline. */
import { useCallback, useMemo, useState } from "react";
import type { StageView } from "@/wire/types";

export interface SentAgents {
  open: ReadonlySet<string>;
  toggle: (executionId: string) => void;
  /** Open it if another agent sent it; answers with the agent of the plan in whose rows it stands. */
  show: (executionId: string) => string;
}

export function useSentAgents(stages: readonly StageView[]): SentAgents {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const parents = useMemo(() => new Map(stages.flatMap((stage) => stage.executions).map((execution) => [execution.id, execution.parent_execution_id])), [stages]);
  const toggle = useCallback((executionId: string) => {
    setOpen((before) => {
      const after = new Set(before);
      if (!after.delete(executionId)) after.add(executionId);
      return after;
    });
  }, []);
  const show = useCallback(
    (executionId: string) => {
      const parent = parents.get(executionId);
      if (!parent) return executionId;
      setOpen((before) => (before.has(executionId) ? before : new Set(before).add(executionId)));
      return parent;
    },
    [parents],
  );
  return { open, toggle, show };
}
