/** One question and its answer, with the steps that led to it. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { useRef } from "react";
import { Badge } from "@/components/badge";
import { RelativeTime } from "@/components/times";
import { AgentRow } from "@/presentation/agent-row";
import { RUN_FACES } from "@/presentation/statuses";
import type { AgentTimelineRow } from "@/presentation/timeline-rows";
import { entryRows, rowsOfPlanned } from "@/presentation/timeline-rows";
import type { SentAgents } from "@/presentation/use-sent-agents";
import type { ChatMessage, RunStatus, StageView, TimelineEvent } from "@/wire/types";

const ANSWERING = {
  pending: true,
  active: true,
  completed: false,
  failed: false,
  timed_out: false,
  cancelled: false,
} satisfies Record<RunStatus, boolean>;

export function isAnswering(status: RunStatus): boolean {
  return ANSWERING[status];
}

interface ExchangeProps {
  message: ChatMessage;
  /** Where it is answered; not known before the session has been asked for again. */
  stage: StageView | undefined;
  events: readonly TimelineEvent[];
  sent: SentAgents;
}

export function Exchange({ message, stage, events, sent }: ExchangeProps) {
  const told = events.filter((event) => event.event_type !== "user_question");
  const rows = stage ? rowsOfPlanned(stage, told, sent.open) : entryRows(told);
  const calls = useRef(new Map<string, HTMLElement | null>());
  return (
    <Box component="article" aria-label={`Question: ${message.content}`}>
      <Box sx={{ bgcolor: "code.inline", borderRadius: 1, px: 1.5, py: 1, mb: 1 }}>
        <Typography variant="caption" color="textSecondary">
          {message.author} · <RelativeTime at={message.created_at} />
        </Typography>
        <Typography dir="auto" sx={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>{message.content}</Typography>
      </Box>
      <Box sx={{ mx: { xs: -1, sm: -2 } }}>
        {rows.map((row) => (
          <div key={row.key} ref={(box) => void (row.kind === "sent" && calls.current.set(row.execution.id, box))}>
            <AgentRow row={row} title={isAnswer(row) ? "Answer" : undefined} onToggle={sent.toggle} onBack={(executionId) => calls.current.get(executionId)?.scrollIntoView({ block: "start" })} />
          </div>
        ))}
      </Box>
      {message.status !== "completed" && (
        <Typography variant="body2" component="div">
          <Badge face={RUN_FACES[message.status]} label={message.status === "active" ? "Answering" : RUN_FACES[message.status].label} />
          {message.error_message && ` ${message.error_message}`}
        </Typography>
      )}
    </Box>
  );
}

function isAnswer(row: AgentTimelineRow): boolean {
  return row.kind === "event" && row.event.event_type === "final_analysis";
}
