/** Follow-up questions about a session that has ended, and their answers while they are written. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Send, Square } from "lucide-react";
import { useMemo, useRef } from "react";
import { samples } from "@/api/alerts";
import { refetchChanged } from "@/api/refetch";
import { askQuestion, cancelAnswer, chatMessages, sessionKeys } from "@/api/sessions";
import { Badge } from "@/components/badge";
import { useTextDraft } from "@/components/draft";
import { MessageForm } from "@/components/message-form";
import { Failure } from "@/components/states";
import { RelativeTime } from "@/components/times";
import { Allowed } from "@/presentation/allowed";
import { hasRunEnded, RUN_BADGES } from "@/presentation/statuses";
import type { SubAgents } from "@/presentation/sub-agents";
import { AgentRow, useSubAgents } from "@/presentation/sub-agents";
import { entryRows, groupBy, plannedAgentRows } from "@/presentation/timeline-rows";
import type { ChatMessage, SessionDetail, StageView, TimelineEvent } from "@/wire/types";
import { useStickToEnd } from "./follow-end";

export function ChatPanel({ session, events }: { session: SessionDetail; events: readonly TimelineEvent[] }) {
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(chatMessages(session.id));
  const [question, setQuestion] = useTextDraft(`question:${session.id}`);
  const refresh = () => refetchChanged(client, sessionKeys.chat(session.id));
  const ask = useMutation({ mutationFn: (text: string) => askQuestion(session.id, text), onSettled: refresh });
  const cancel = useMutation({ mutationFn: (messageId: string) => cancelAnswer(session.id, messageId), onSettled: refresh });
  const byStage = useMemo(() => groupBy(events, (event) => event.stage_id), [events]);
  const subAgents = useSubAgents(session.stages);
  const messages = data?.messages ?? [];
  const answering = messages.find(({ status }) => !hasRunEnded(status));
  const { box, follow } = useStickToEnd(messages.length > 0);
  const send = (text: string) => {
    follow();
    return ask.mutateAsync(text);
  };
  return (
    <>
      {/* Focusable, so that it can be scrolled by keyboard. */}
      <Box ref={box} tabIndex={0} role="log" aria-label="Questions and answers" sx={{ flex: 1, minHeight: 0, overflow: "auto", overscrollBehavior: "contain", p: 2 }}>
        <Stack spacing={2}>
          {messages.map((message) => (
            <Exchange key={message.id} message={message} stage={session.stages.find((stage) => stage.id === message.stage_id)} events={byStage.get(message.stage_id ?? "") ?? []} subAgents={subAgents} />
          ))}
          {error && <Failure what="The chat could not be loaded." error={error} onRetry={() => void refetch()} />}
          {ask.error && <Failure what="The question was not accepted." error={ask.error} />}
          {cancel.error && <Failure what="The answer could not be stopped." error={cancel.error} />}
          {data && (messages.length === 0 || session.recorded) && <Suggestions session={session} asked={messages} busy={ask.isPending || answering !== undefined} onPick={(picked) => void send(picked).catch(() => undefined)} />}
        </Stack>
      </Box>
      <Box sx={{ borderTop: 1, borderColor: "divider", p: 1.5 }}>
        <MessageForm
          text={question}
          onText={setQuestion}
          label="Ask a question"
          disabled={ask.isPending || answering !== undefined}
          onSend={send}
          button={(ready) =>
            answering ? (
              <Allowed operation="cancelQuestion">
                <Button variant="outlined" color="error" startIcon={<Square size={15} />} onClick={() => cancel.mutate(answering.id)} disabled={cancel.isPending} sx={{ minWidth: 96, height: 38 }}>
                  Stop
                </Button>
              </Allowed>
            ) : (
              <Allowed operation="askQuestion">
                <Button type="submit" variant="contained" startIcon={<Send size={15} />} disabled={!ready} loading={ask.isPending} sx={{ minWidth: 96, height: 38 }}>
                  Ask
                </Button>
              </Allowed>
            )
          }
        />
      </Box>
    </>
  );
}

interface SuggestionsProps {
  session: SessionDetail;
  asked: readonly ChatMessage[];
  busy: boolean;
  onPick: (question: string) => void;
}

/** The questions of a sample: a recorded model has answers to no others. */
function Suggestions({ session, asked, busy, onPick }: SuggestionsProps) {
  const { data } = useQuery(samples);
  const offered = data?.samples.find((sample) => sample.alert_type === session.alert_type)?.questions ?? [];
  const questions = offered.filter((question) => !asked.some((message) => message.content === question));
  if (questions.length === 0) {
    if (asked.length > 0) return null;
    return (
      <Typography variant="body2" color="textSecondary">
        {session.recorded ? "The model is recorded. It answers only what was recorded for this session." : "Ask about what was found. The agent knows the whole investigation and can use its tools again."}
      </Typography>
    );
  }
  return (
    <Box>
      <Typography variant="body2" color="textSecondary" sx={{ mb: 1 }}>
        {session.recorded ? "The model is recorded. It has answers to these questions, and to no others:" : "Ask for example:"}
      </Typography>
      <Stack direction="row" sx={{ flexWrap: "wrap", gap: 1 }}>
        {questions.map((question) => (
          <Allowed key={question} operation="askQuestion">
            <Button size="small" variant="outlined" disabled={busy} onClick={() => onPick(question)} sx={{ textAlign: "left" }}>
              {question}
            </Button>
          </Allowed>
        ))}
      </Stack>
    </Box>
  );
}

interface ExchangeProps {
  message: ChatMessage;
  /** Undefined until the session has been refetched. */
  stage: StageView | undefined;
  events: readonly TimelineEvent[];
  subAgents: SubAgents;
}

/** A question and its answer, with the steps in between. */
export function Exchange({ message, stage, events, subAgents }: ExchangeProps) {
  const answer = events.filter((event) => event.event_type !== "user_question");
  const rows = stage ? plannedAgentRows(stage, answer, subAgents.open) : entryRows(answer);
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
          <div key={row.key} ref={(box) => void (row.kind === "sub-agent" && calls.current.set(row.execution.id, box))}>
            <AgentRow row={row} title={row.kind === "event" && row.event.event_type === "final_analysis" ? "Answer" : undefined} onToggle={subAgents.toggle} onBack={(executionId) => calls.current.get(executionId)?.scrollIntoView({ block: "start" })} />
          </div>
        ))}
      </Box>
      {message.status !== "completed" && (
        <Typography variant="body2" component="div">
          <Badge badge={RUN_BADGES[message.status]} label={message.status === "active" ? "Answering" : RUN_BADGES[message.status].label} />
          {message.error_message && ` ${message.error_message}`}
        </Typography>
      )}
    </Box>
  );
}
