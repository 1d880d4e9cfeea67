/** One question and its answer, with the steps that led to it. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { Badge } from "@/components/badge";
import { RelativeTime } from "@/components/times";
import { Entry } from "@/presentation/entries";
import { RUN_FACES } from "@/presentation/statuses";
import { entryRows } from "@/presentation/timeline-rows";
import type { ChatMessage, RunStatus, TimelineEvent } from "@/wire/types";

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

export function Exchange({ message, events }: { message: ChatMessage; events: readonly TimelineEvent[] }) {
  const rows = entryRows(events.filter((event) => event.event_type !== "user_question"));
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
          <Entry key={row.key} row={row} title={row.kind === "event" && row.event.event_type === "final_analysis" ? "Answer" : undefined} />
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
