/** Submits an alert: a new one, a sample, or that of an earlier session. */
import Alert from "@mui/material/Alert";
import Autocomplete from "@mui/material/Autocomplete";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Send } from "lucide-react";
import type { ReactNode } from "react";
import { useState } from "react";
import { alertTypes, samples, submitAlert } from "@/api/alerts";
import { sessionDetail } from "@/api/sessions";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { useDraft } from "@/components/draft";
import { Form } from "@/components/fields";
import { TextLink } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { Section } from "@/components/section";
import { Failure, Loading } from "@/components/states";
import { Allowed } from "@/presentation/allowed";
import type { Sample } from "@/wire/types";
import { AlertEditor } from "./alert-editor";
import type { Draft } from "./draft";
import { draftOf, draftOfSample, EMPTY_DRAFT, isDraft, problemsOf, requestOf } from "./draft";
import { Samples } from "./samples";
import { ToolSelection } from "./tool-selection";

const route = getRouteApi("/alerts/new");

export function NewAlertPage() {
  // A session whose alert is submitted again.
  const { from } = route.useSearch();
  const original = useQuery({ ...sessionDetail(from ?? ""), enabled: from !== undefined });
  usePageTitle("New alert");
  if (from !== undefined && original.isPending) return <Loading what="the session to submit again" />;
  // Not for a failed refetch: text that was written meanwhile must not be lost.
  if (original.isLoadingError) return <Failure what="The session to submit again could not be loaded." error={original.error} onRetry={() => void original.refetch()} />;
  return <AlertForm key={from} name={from ?? "new"} start={original.data ? draftOf(original.data) : EMPTY_DRAFT} again={from !== undefined} />;
}

function AlertForm({ name, start, again }: { name: string; start: Draft; again: boolean }) {
  const navigate = route.useNavigate();
  const [draft, setDraft, clearDraft] = useDraft(`alert:${name}`, start, isDraft);
  const [sample, setSample] = useState<string | null>(null);
  // The sample to edit, while the person is asked whether it may replace what is written.
  const [replacement, setReplacement] = useState<Sample | null>(null);
  const known = useQuery(samples).data?.samples ?? [];
  const isWritten = draft.runbook.trim() !== "" || (draft.text.trim() !== "" && !known.some(({ alert_data: text }) => text === draft.text));
  const edit = (chosen: Sample) => {
    setReplacement(null);
    setDraft(draftOfSample(chosen));
    window.scrollTo({ top: 0 });
  };
  const submit = useMutation({
    mutationFn: (alert: Draft) => submitAlert(requestOf(alert)),
    // A sample was not written here: what was stays.
    onSuccess: () => sample === null && clearDraft(),
  });
  // The session is not opened if the person has left this page meanwhile.
  const send = (alert: Draft) => submit.mutate(alert, { onSuccess: ({ session_id: sessionId }) => void navigate({ to: "/sessions/$sessionId", params: { sessionId } }) });
  // Shown beside the pressed button: the form is longer than a screen.
  const failure = submit.error && <Failure what="The alert was not accepted." error={submit.error} />;
  return (
    <Box sx={{ display: "grid", gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 1fr) 380px" }, gap: 2.5, alignItems: "start" }}>
      <Stack spacing={2}>
        <Typography variant="h1">{again ? "Submit again" : "New alert"}</Typography>
        <Fields
          draft={draft}
          onDraft={setDraft}
          onSubmit={(written) => {
            setSample(null);
            send(written);
          }}
          busy={submit.isPending}
          failure={sample === null && failure}
        />
      </Stack>
      <Section title="Try a sample incident">
        {sample !== null && failure}
        <Samples
          busy={submit.isPending ? sample : null}
          onRun={(chosen) => {
            setSample(chosen.name);
            send(draftOfSample(chosen));
          }}
          onEdit={(chosen) => (isWritten ? setReplacement(chosen) : edit(chosen))}
        />
      </Section>
      {replacement && (
        <ConfirmDialog
          title="Replace the alert that you are writing?"
          text={`The sample “${replacement.title}” takes the place of its text, runbook and tools.`}
          cancelLabel="Keep it"
          onClose={() => setReplacement(null)}
          actions={
            <Button variant="contained" onClick={() => edit(replacement)}>
              Replace it
            </Button>
          }
        />
      )}
    </Box>
  );
}

interface FieldsProps {
  draft: Draft;
  onDraft: (draft: Draft) => void;
  onSubmit: (draft: Draft) => void;
  busy: boolean;
  failure: ReactNode;
}

function Fields({ draft, onDraft, onSubmit, busy, failure }: FieldsProps) {
  const [tried, setTried] = useState(false);
  const types = useQuery(alertTypes);
  const known = types.data?.alert_types ?? [];
  const type = draft.alertType ?? types.data?.default_alert_type ?? "";
  const chosen = known.find((item) => item.name === type);
  // A sample has tools of its own; tools chosen for another type are kept in the draft but not sent.
  const written = chosen?.is_sample ? { ...draft, servers: null } : draft;
  const problems = tried ? problemsOf(written) : {};
  const send = () => {
    setTried(true);
    if (Object.keys(problemsOf(written)).length === 0) onSubmit(written);
  };
  return (
    <Form spacing={2} onSubmit={send}>
      {chosen?.has_model === false && (
        <Alert severity="warning" variant="outlined" role="status" sx={{ py: 0, alignItems: "center" }}>
          No model is configured, so alerts of this type are refused. <TextLink to="/setup" search={{ step: "model" }}>Set up a model</TextLink>
        </Alert>
      )}
      <Autocomplete
        freeSolo
        options={known.map((item) => item.name)}
        inputValue={type}
        onInputChange={(_, name, reason) => reason !== "reset" || name !== "" ? onDraft({ ...draft, alertType: name }) : undefined}
        renderInput={(props) => <TextField {...props} label="Alert type" helperText={chosen?.description ?? "Decides which chain investigates."} size="small" />}
      />
      <Box>
        <AlertEditor value={draft.text} onChange={(text) => onDraft({ ...draft, text })} invalid={problems.text !== undefined} />
        {problems.text && <Alert severity="error">{problems.text}</Alert>}
      </Box>
      <TextField
        size="small"
        type="url"
        label="Runbook address (optional)"
        value={draft.runbook}
        error={problems.runbook !== undefined}
        helperText={problems.runbook ?? "Given to the agents as guidance."}
        onChange={(event) => onDraft({ ...draft, runbook: event.target.value })}
      />
      {chosen?.is_sample ? (
        <Typography variant="body2" color="textSecondary">
          Tools: the simulated cluster of this sample.
        </Typography>
      ) : (
        <ToolSelection alertType={type} value={draft.servers} problem={problems.tools} onChange={(servers) => onDraft({ ...draft, servers })} />
      )}
      {types.error && <Failure what="The alert types could not be loaded." error={types.error} onRetry={() => void types.refetch()} />}
      {failure}
      <Box>
        <Allowed operation="submitAlert">
          <Button type="submit" variant="contained" startIcon={<Send size={16} />} loading={busy}>
            Submit alert
          </Button>
        </Allowed>
      </Box>
    </Form>
  );
}
