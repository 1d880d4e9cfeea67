/** Sub-agents in a timeline: the call that dispatched one, with its task and report, and its own entries below while it is open. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Typography from "@mui/material/Typography";
import { ChevronRight, CornerLeftUp } from "lucide-react";
import type { ReactNode } from "react";
import { useCallback, useMemo, useState } from "react";
import { Elapsed } from "@/components/times";
import type { ExecutionView, StageView } from "@/wire/types";
import { AgentText } from "./cited-text";
import { Entry } from "./entries";
import { EntryFrame } from "./entry-frame";
import { distinctReason, RUN_BADGES } from "./statuses";
import type { AgentTimelineRow, SubAgentRow } from "./timeline-rows";
import { isReport, rowEvents } from "./timeline-rows";

interface AgentRowProps {
  row: AgentTimelineRow;
  /** Replaces the label of an event type. */
  title?: string | undefined;
  /** The id of the event to highlight. */
  target?: string | undefined;
  /** The page shows the text of this event in another place too. */
  repeated?: boolean;
  onLink?: (eventId: string) => string;
  onToggle: (executionId: string) => void;
  /** Scroll to the call that dispatched a sub-agent. */
  onBack: (executionId: string) => void;
  /** More actions for a sub-agent. */
  actionsOf?: (execution: ExecutionView) => ReactNode;
}

/** A row of one agent's timeline, including its sub-agents. */
export function AgentRow({ row, title, target, repeated = false, onLink, onToggle, onBack, actionsOf }: AgentRowProps) {
  switch (row.kind) {
    case "sub-agent":
      return <SubAgentEntry row={row} highlighted={rowEvents(row).some((event) => event.id === target)} onLink={onLink} onToggle={onToggle} actions={actionsOf?.(row.execution)} />;
    case "back-to-call":
      return (
        <SubAgentIndent>
          <Button size="small" color="inherit" startIcon={<CornerLeftUp size={14} />} onClick={() => onBack(row.execution.id)} sx={{ ml: 1 }}>
            {`Back to the call that sent ${row.execution.agent_name}`}
          </Button>
        </SubAgentIndent>
      );
    case "tool":
    case "event": {
      const highlighted = rowEvents(row).some((event) => event.id === target);
      if (!row.subAgent) return <Entry row={row} title={title} repeated={repeated} highlighted={highlighted} onLink={onLink} />;
      return (
        <SubAgentIndent>
          <Entry row={row} repeated={isReport(row)} highlighted={highlighted} onLink={onLink} />
        </SubAgentIndent>
      );
    }
  }
}

function SubAgentIndent({ children }: { children: ReactNode }) {
  return <Box sx={{ ml: { xs: 2, sm: 4 }, borderLeft: 2, borderColor: "divider" }}>{children}</Box>;
}

interface SubAgentEntryProps {
  row: SubAgentRow;
  highlighted: boolean;
  onLink: ((eventId: string) => string) | undefined;
  onToggle: (executionId: string) => void;
  actions: ReactNode;
}

function SubAgentEntry({ row: { execution, call, report, open }, highlighted, onLink, onToggle, actions }: SubAgentEntryProps) {
  const reason = distinctReason(RUN_BADGES[execution.status], execution.error_message);
  const note = (
    <>
      {execution.dispatched_by}
      {execution.started_at && (
        <>
          {" · "}
          <Elapsed since={execution.started_at} until={execution.completed_at} />
        </>
      )}
    </>
  );
  return (
    <EntryFrame badge={RUN_BADGES[execution.status]} title={`${execution.agent_name} was sent`} note={note} at={call.created_at} onLink={onLink && (() => onLink(call.id))} highlighted={highlighted}>
      <Typography variant="body2" sx={{ mt: 0.25, whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {execution.task}
      </Typography>
      {report && (
        <Box role="region" aria-label={`Report of ${execution.agent_name}`} tabIndex={0} sx={{ borderLeft: 2, borderColor: "success.main", pl: 1.5, mt: 0.5, maxHeight: open ? "none" : 220, overflowY: "auto" }}>
          <AgentText event={report} />
        </Box>
      )}
      {reason && (
        <Typography variant="body2" color="error" sx={{ overflowWrap: "anywhere" }}>
          {reason}
        </Typography>
      )}
      <Box sx={{ display: "flex", alignItems: "center", gap: 1 }}>
        <Button size="small" color="inherit" aria-expanded={open} onClick={() => onToggle(execution.id)} startIcon={<ChevronRight size={14} style={{ transform: open ? "rotate(90deg)" : "none" }} />}>
          {open ? "Hide its work" : "Show its work"}
        </Button>
        {actions}
      </Box>
    </EntryFrame>
  );
}

export interface SubAgents {
  /** The executions whose entries are shown. */
  open: ReadonlySet<string>;
  toggle: (executionId: string) => void;
  /** Opens the execution if it is a sub-agent's. Returns the execution of the planned agent among whose rows it is. */
  show: (executionId: string) => string;
}

export function useSubAgents(stages: readonly StageView[]): SubAgents {
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
