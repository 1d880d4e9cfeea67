/** An agent that another one sent: its task and what it reported, readable without opening its work. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Typography from "@mui/material/Typography";
import { ChevronRight, CornerLeftUp } from "lucide-react";
import type { ReactNode } from "react";
import { Elapsed } from "@/components/times";
import type { ExecutionView } from "@/wire/types";
import { AgentText } from "./cited-text";
import { EntryFrame } from "./entry-frame";
import { reasonBeside, RUN_FACES } from "./statuses";
import type { BackRow, SentRow } from "./timeline-rows";

interface SentEntryProps {
  row: SentRow;
  highlighted?: boolean;
  onLink?: (eventId: string) => void;
  onToggle: (executionId: string) => void;
  /** What else can be done with the agent. */
  actions?: ReactNode;
}

export function SentEntry({ row: { execution, call, report, open }, highlighted = false, onLink, onToggle, actions }: SentEntryProps) {
  const reason = reasonBeside(RUN_FACES[execution.status], execution.error_message);
  return (
    <EntryFrame face={RUN_FACES[execution.status]} title={`${execution.agent_name} was sent`} note={<Note execution={execution} />} at={call.created_at} onLink={onLink && (() => onLink(call.id))} highlighted={highlighted}>
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

function Note({ execution }: { execution: ExecutionView }) {
  return (
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
}

/** What a sub-agent did, set off from what its sender did. */
export function WithinSent({ children }: { children: ReactNode }) {
  return <Box sx={{ ml: { xs: 2, sm: 4 }, borderLeft: 2, borderColor: "divider" }}>{children}</Box>;
}

export function BackToCall({ row: { execution }, onBack }: { row: BackRow; onBack: (executionId: string) => void }) {
  return (
    <WithinSent>
      <Button size="small" color="inherit" startIcon={<CornerLeftUp size={14} />} onClick={() => onBack(execution.id)} sx={{ ml: 1 }}>
        {`Back to the call that sent ${execution.agent_name}`}
      </Button>
    </WithinSent>
  );
}
