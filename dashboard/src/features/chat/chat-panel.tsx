/** Questions about a session that has ended, and their answers as they are being written. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Send, Square } from "lucide-react";
import { useMemo } from "react";
import { samples } from "@/api/alerts";
import { refetchChanged } from "@/api/refetch";
import { ask, chatKey, chatMessages, stopAnswer } from "@/api/chat";
import { MessageForm } from "@/components/message-form";
import { Failure } from "@/components/states";
import { groupBy } from "@/presentation/timeline-rows";
import { useSentAgents } from "@/presentation/use-sent-agents";
import type { ChatMessage, SessionDetail, TimelineEvent } from "@/wire/types";
import { Exchange, isAnswering } from "./exchange";
import { useStickToEnd } from "./use-stick-to-end";

export function ChatPanel({ session, events }: { session: SessionDetail; events: readonly TimelineEvent[] }) {
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(chatMessages(session.id));
  const refresh = () => refetchChanged(client, chatKey(session.id));
  const send = useMutation({ mutationFn: (question: string) => ask(session.id, question), onSettled: refresh });
  const stop = useMutation({ mutationFn: (messageId: string) => stopAnswer(session.id, messageId), onSettled: refresh });
  const byStage = useMemo(() => groupBy(events, (event) => event.stage_id), [events]);
  const sent = useSentAgents(session.stages);
  const messages = data?.messages ?? [];
  const answering = messages.find((message) => isAnswering(message.status));
  const { scrolled, follow } = useStickToEnd(messages.length > 0);
  const pose = (question: string) => {
    follow();
    return send.mutateAsync(question);
  };
  return (
    <>
      {/* What scrolls must be reachable by keyboard. */}
      <Box ref={scrolled} tabIndex={0} role="log" aria-label="Questions and answers" sx={{ flex: 1, minHeight: 0, overflow: "auto", overscrollBehavior: "contain", p: 2 }}>
        <Stack spacing={2}>
          {messages.map((message) => (
            <Exchange key={message.id} message={message} stage={session.stages.find((stage) => stage.id === message.stage_id)} events={byStage.get(message.stage_id ?? "") ?? []} sent={sent} />
          ))}
          {error && <Failure what="The chat could not be loaded." error={error} onRetry={() => void refetch()} />}
          {send.error && <Failure what="The question was not accepted." error={send.error} />}
          {stop.error && <Failure what="The answer could not be stopped." error={stop.error} />}
          {data && (messages.length === 0 || session.recorded) && <Suggestions session={session} asked={messages} busy={send.isPending || answering !== undefined} onPick={(question) => void pose(question).catch(() => undefined)} />}
        </Stack>
      </Box>
      <Box sx={{ borderTop: 1, borderColor: "divider", p: 1.5 }}>
        <Question draft={`question:${session.id}`} busy={send.isPending} onAsk={pose} onStop={answering ? () => stop.mutate(answering.id) : undefined} stopping={stop.isPending} />
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

/** A recorded model answers only what was recorded, so a sample says what to ask. */
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
          <Button key={question} size="small" variant="outlined" disabled={busy} onClick={() => onPick(question)} sx={{ textAlign: "left" }}>
            {question}
          </Button>
        ))}
      </Stack>
    </Box>
  );
}

interface QuestionProps {
  draft: string;
  busy: boolean;
  stopping: boolean;
  onAsk: (question: string) => Promise<unknown>;
  /** There is an answer being written that can be stopped. */
  onStop: (() => void) | undefined;
}

function Question({ draft, busy, stopping, onAsk, onStop }: QuestionProps) {
  return (
    <MessageForm
      draft={draft}
      label="Ask a question"
      held={busy || onStop !== undefined}
      onSend={onAsk}
      button={(ready) =>
        onStop ? (
          <Button variant="outlined" color="error" startIcon={<Square size={15} />} onClick={onStop} disabled={stopping} sx={{ minWidth: 96, height: 38 }}>
            Stop
          </Button>
        ) : (
          <Button type="submit" variant="contained" startIcon={<Send size={15} />} disabled={!ready} loading={busy} sx={{ minWidth: 96, height: 38 }}>
            Ask
          </Button>
        )
      }
    />
  );
}
