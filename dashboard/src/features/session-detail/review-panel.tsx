/** The review of a finished session: useful or not with one click, then whether the verdict was right, the actual cause and what was done. */
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ThumbsDown, ThumbsUp } from "lucide-react";
import { refetchChanged } from "@/api/refetch";
import { reviewKey, reviewSession, sessionReview } from "@/api/reviews";
import { useDraft } from "@/components/draft";
import { Form } from "@/components/fields";
import { Section } from "@/components/section";
import { Failure } from "@/components/states";
import { RelativeTime } from "@/components/times";
import { Toggles } from "@/components/toggles";
import { Allowed } from "@/presentation/allowed";
import { TriagePanel } from "@/presentation/triage-panel";
import type { Accuracy, Review, ReviewRequest } from "@/wire/types";

const USEFULNESS = { yes: [<ThumbsUp key="icon" size={15} aria-hidden />, "Useful"], no: [<ThumbsDown key="icon" size={15} aria-hidden />, "Not useful"] };
const ACCURACIES: Record<Accuracy, string> = { accurate: "Accurate", partly: "Partly accurate", wrong: "Wrong" };

export function ReviewPanel({ sessionId }: { sessionId: string }) {
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(sessionReview(sessionId));
  const refresh = () => refetchChanged(client, reviewKey(sessionId));
  const save = useMutation({ mutationFn: (review: ReviewRequest) => reviewSession(sessionId, review), onSettled: refresh });
  // Not for a failed refetch: text that was written meanwhile must not be lost.
  if (!data) return error && <Failure what="The review could not be loaded." error={error} onRetry={() => void refetch()} />;
  const { review, triage } = data;
  return (
    <Section title="Review">
      <Stack spacing={2}>
        <Stack direction="row" sx={{ flexWrap: "wrap", alignItems: "center", columnGap: 2, rowGap: 1 }}>
          <Typography variant="body2">Was this investigation useful?</Typography>
          <Allowed operation="reviewSession">
            <Toggles label="Usefulness" options={USEFULNESS} value={review && (review.useful ? "yes" : "no")} onValue={(chosen) => save.mutate({ useful: chosen === "yes" })} disabled={save.isPending} sx={{ gap: 0.75, py: 0.5 }} />
          </Allowed>
          {review && (
            <Typography variant="body2" color="textSecondary">
              {review.reviewer} · <RelativeTime at={review.reviewed_at} />
            </Typography>
          )}
        </Stack>
        {review && <Details sessionId={sessionId} review={review} saving={save.isPending} onSave={save.mutateAsync} />}
        {save.error && <Failure what="The review was not stored." error={save.error} />}
        <TriagePanel subject={{ kind: "session", id: sessionId }} triage={triage} onChanged={() => void refresh()} />
      </Stack>
    </Section>
  );
}

interface DetailsProps {
  sessionId: string;
  review: Review;
  saving: boolean;
  onSave: (review: ReviewRequest) => Promise<unknown>;
}

/** Unsaved text; absent where the stored text is shown, which another person may change. */
type UnsavedTexts = Partial<Pick<Review, "actual_cause" | "action_taken">>;

function isUnsavedTexts(value: unknown): value is UnsavedTexts {
  return typeof value === "object" && value !== null && Object.values(value).every((text) => typeof text === "string");
}

function Details({ sessionId, review, saving, onSave }: DetailsProps) {
  const [typed, setTyped] = useDraft<UnsavedTexts>(`review:${sessionId}`, {}, isUnsavedTexts);
  const { actual_cause: cause, action_taken: action } = { ...review, ...typed };
  const changed = cause !== review.actual_cause || action !== review.action_taken;
  const save = (judged: Pick<ReviewRequest, "accuracy">) =>
    void onSave({ useful: review.useful, ...typed, ...judged }).then(
      // More may have been typed meanwhile.
      () => setTyped((now) => Object.fromEntries(Object.entries(now).filter(([name, text]) => text !== typed[name as keyof UnsavedTexts]))),
      () => undefined,
    );
  return (
    <Form spacing={1.5} sx={{ alignItems: "flex-start" }} onSubmit={() => save({})}>
      <Stack direction="row" sx={{ flexWrap: "wrap", alignItems: "center", columnGap: 2, rowGap: 1 }}>
        <Typography variant="body2">Was the verdict right?</Typography>
        <Allowed operation="reviewSession">
          <Toggles label="Accuracy" options={ACCURACIES} value={review.accuracy} onValue={(accuracy) => save({ accuracy })} disabled={saving} sx={{ py: 0.5 }} />
        </Allowed>
      </Stack>
      <TextField label="Actual cause" size="small" multiline maxRows={6} fullWidth value={cause} onChange={(event) => setTyped({ ...typed, actual_cause: event.target.value })} />
      <TextField label="What was done" size="small" multiline maxRows={6} fullWidth value={action} onChange={(event) => setTyped({ ...typed, action_taken: event.target.value })} />
      {changed && (
        <Allowed operation="reviewSession">
          <Button type="submit" variant="outlined" size="small" loading={saving}>
            Save
          </Button>
        </Allowed>
      )}
    </Form>
  );
}
