/** Notes to the agents of a running session: hints of engineers and updates of the incident's alerts. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Lightbulb } from "lucide-react";
import { refetchChanged } from "@/api/refetch";
import { askQuestion, sendHint, sessionKeys, sessionNotes } from "@/api/sessions";
import { useTextDraft } from "@/components/draft";
import { MessageForm } from "@/components/message-form";
import { Section } from "@/components/section";
import { Failure } from "@/components/states";
import { Allowed } from "@/presentation/allowed";
import { NoteLine } from "@/presentation/note-line";
import { hasEnded } from "@/presentation/statuses";
import type { SessionDetail } from "@/wire/types";

export function HintPanel({ session }: { session: SessionDetail }) {
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(sessionNotes(session.id));
  const refresh = () => refetchChanged(client, sessionKeys.notes(session.id));
  const hint = useMutation({ mutationFn: (written: string) => sendHint(session.id, written), onSettled: refresh });
  const question = useMutation({ mutationFn: (asked: string) => askQuestion(session.id, asked), onSettled: () => refetchChanged(client, sessionKeys.chat(session.id)) });
  const notes = data?.notes ?? [];
  const [text, setText] = useTextDraft(`hint:${session.id}`);
  const acceptsHints = !hasEnded(session.status) && !session.recorded;
  // What was being written when the session ended stays.
  const hasForm = acceptsHints || text.trim() !== "";
  if (!hasForm && notes.length === 0 && !error) return null;
  const askInstead = (hinted: string, onAsked: () => void = () => undefined) => session.chat_enabled && (
    <Allowed operation="askQuestion">
      <Button size="small" disabled={question.isPending} onClick={() => void question.mutateAsync(hinted).then(onAsked, () => undefined)}>
        Ask as a question
      </Button>
    </Allowed>
  );
  return (
    <Section title="Hints">
      <Stack spacing={2}>
        {notes.length > 0 && (
          <Box component="ul" aria-label="Sent hints" tabIndex={0} sx={{ listStyle: "none", m: 0, p: 0, maxHeight: "24vh", overflowY: "auto" }}>
            {notes.map((note) => (
              <NoteLine key={note.id} note={note}>
                {note.state === "too_late" && note.kind === "hint" && askInstead(note.text)}
              </NoteLine>
            ))}
          </Box>
        )}
        {error && <Failure what="The hints could not be loaded." error={error} onRetry={() => void refetch()} />}
        {hint.error && <Failure what="The hint was not accepted." error={hint.error} />}
        {question.error && <Failure what="The question was not accepted." error={question.error} />}
        {hasForm && (
          <MessageForm
            text={text}
            onText={setText}
            label="Tell the agents something"
            disabled={!acceptsHints || hint.isPending}
            onSend={hint.mutateAsync}
            button={(ready) =>
              acceptsHints ? (
                <Allowed operation="giveHint">
                  <Button type="submit" variant="outlined" startIcon={<Lightbulb size={15} />} disabled={!ready} loading={hint.isPending} sx={{ minWidth: 96, height: 38 }}>
                    Hint
                  </Button>
                </Allowed>
              ) : (
                askInstead(text.trim(), () => setText((now) => (now === text ? "" : now)))
              )
            }
          />
        )}
      </Stack>
    </Section>
  );
}
