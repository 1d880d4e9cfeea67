/** Who has acknowledged a session or an incident, who takes care of it, and what people wrote about it. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Check, UserCheck } from "lucide-react";
import { useState } from "react";
import type { Subject } from "@/api/reviews";
import { addComment, changeTriage } from "@/api/reviews";
import { me } from "@/api/system";
import { useTextDraft } from "@/components/draft";
import { Form } from "@/components/fields";
import { MessageForm } from "@/components/message-form";
import { Failure } from "@/components/states";
import { RelativeTime } from "@/components/times";
import type { Operation, Triage, TriageRequest } from "@/wire/types";
import { Allowed } from "./allowed";

const OPERATIONS = {
  session: { triage: "triageSession", comment: "commentSession" },
  incident: { triage: "triageIncident", comment: "commentIncident" },
} as const satisfies Record<Subject["kind"], Record<string, Operation>>;

interface TriagePanelProps {
  subject: Subject;
  triage: Triage;
  onChanged: () => void;
}

export function TriagePanel({ subject, triage, onChanged }: TriagePanelProps) {
  const change = useMutation({ mutationFn: (wanted: TriageRequest) => changeTriage(subject, wanted), onSettled: onChanged });
  const comment = useMutation({ mutationFn: (written: string) => addComment(subject, written), onSettled: onChanged });
  const [text, setText] = useTextDraft(`comment:${subject.id}`);
  return (
    <Stack spacing={1.5}>
      <Stack direction="row" sx={{ flexWrap: "wrap", alignItems: "center", columnGap: 2, rowGap: 1 }}>
        {triage.acknowledged_by === null ? (
          <Allowed operation={OPERATIONS[subject.kind].triage}>
            <Button size="small" variant="outlined" startIcon={<Check size={15} />} loading={change.isPending} onClick={() => change.mutate({ acknowledged: true })}>
              Acknowledge
            </Button>
          </Allowed>
        ) : (
          <Typography variant="body2">
            Acknowledged by {triage.acknowledged_by}
            {triage.acknowledged_at && (
              <>
                {" "}
                <RelativeTime at={triage.acknowledged_at} />
              </>
            )}
          </Typography>
        )}
        <Assignee operation={OPERATIONS[subject.kind].triage} assignee={triage.assignee} onAssign={(assignee) => change.mutate({ assignee })} />
      </Stack>
      {triage.comments.length > 0 && (
        <Box component="ul" aria-label="Comments" sx={{ listStyle: "none", m: 0, p: 0 }}>
          {triage.comments.map((one) => (
            <Box component="li" key={one.id} sx={{ py: 0.75, borderTop: 1, borderColor: "divider" }}>
              <Typography variant="caption" color="textSecondary">
                {one.author} · <RelativeTime at={one.created_at} />
              </Typography>
              <Typography variant="body2" dir="auto" sx={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
                {one.text}
              </Typography>
            </Box>
          ))}
        </Box>
      )}
      {(change.error ?? comment.error) && <Failure what="The change was not stored." error={change.error ?? comment.error} />}
      <Box sx={{ displayPrint: "none" }}>
        <MessageForm
          text={text}
          onText={setText}
          label="Comment"
          disabled={comment.isPending}
          onSend={comment.mutateAsync}
          button={(ready) => (
            <Allowed operation={OPERATIONS[subject.kind].comment}>
              <Button type="submit" variant="outlined" disabled={!ready} loading={comment.isPending} sx={{ height: 38 }}>
                Add
              </Button>
            </Allowed>
          )}
        />
      </Box>
    </Stack>
  );
}

function Assignee({ operation, assignee, onAssign }: { operation: Operation; assignee: string | null; onAssign: (name: string) => void }) {
  const author = useQuery(me).data?.author;
  // Null for the stored name, which another person may change.
  const [typed, setTyped] = useState<string | null>(null);
  if (typed !== null && typed === (assignee ?? "")) setTyped(null);
  const name = typed ?? assignee ?? "";
  const changed = name.trim() !== (assignee ?? "");
  const assign = () => {
    setTyped(name.trim());
    onAssign(name.trim());
  };
  return (
    <Form direction="row" sx={{ alignItems: "center", gap: 1 }} onSubmit={assign}>
      <TextField size="small" label="Assigned to" value={name} onChange={(event) => setTyped(event.target.value)} sx={{ width: 170 }} slotProps={{ htmlInput: { maxLength: 200 } }} />
      {changed && (
        <Allowed operation={operation}>
          <Button type="submit" size="small">
            {name.trim() === "" ? "Unassign" : "Assign"}
          </Button>
        </Allowed>
      )}
      {!changed && author && assignee !== author && (
        <Allowed operation={operation}>
          <Button size="small" startIcon={<UserCheck size={15} />} onClick={() => onAssign(author)}>
            Assign to me
          </Button>
        </Allowed>
      )}
    </Form>
  );
}
