/** Take an investigation up again from one of its steps: with another model, with a hint, or both. */
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogContentText from "@mui/material/DialogContentText";
import DialogTitle from "@mui/material/DialogTitle";
import MenuItem from "@mui/material/MenuItem";
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { forkSession, models as askable } from "@/api/forks";
import { traceList } from "@/api/trace";
import { Failure } from "@/components/states";
import type { ForkAsk } from "@/presentation/fork-door";
import { callBefore } from "@/presentation/fork-place";
import type { ModelItem, SessionDetail } from "@/wire/types";

interface ForkDialogProps {
  session: SessionDetail;
  ask: ForkAsk;
  onClose: () => void;
  onForked: (sessionId: string) => void;
}

export function ForkDialog({ session, ask, onClose, onForked }: ForkDialogProps) {
  const title = useId();
  const trace = useQuery({ ...traceList(session.id), enabled: "at" in ask });
  const turn = "turn" in ask ? ask.turn : trace.data && callBefore(trace.data.llm, ask.executionId, ask.at)?.turn;
  const { data } = useQuery(askable);
  const choices = data?.models ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  // A recorded model can only repeat itself.
  const model = chosen ?? (session.recorded ? (choices[0]?.name ?? "") : "");
  const [hint, setHint] = useState("");
  const fork = useMutation({
    mutationFn: (from: number) => forkSession(session.id, { execution_id: ask.executionId, turn: from, ...(model === "" ? {} : { model }), ...(hint.trim() === "" ? {} : { hint: hint.trim() }) }),
    onSuccess: onForked,
  });
  const executions = session.stages.flatMap((stage) => stage.executions);
  const execution = executions.find(({ id }) => id === ask.executionId);
  const agent = execution?.agent_name ?? "the agent";
  const sender = executions.find(({ id }) => id === execution?.parent_execution_id)?.agent_name;
  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="sm" aria-labelledby={title}>
      <DialogTitle id={title}>{turn === undefined ? "Fork from here" : `Fork from turn ${turn + 1} of ${agent}`}</DialogTitle>
      <DialogContent>
        <Stack spacing={2}>
          <DialogContentText>A new session begins with a copy of all steps before this one and goes on by itself. It asks its tools for what they say today. {sender && `${sender} waits for the new report of ${agent}. `}This session stays as it is.</DialogContentText>
          {trace.data && turn === undefined && <Alert severity="warning">No call of this agent was made before this entry: choose a later one.</Alert>}
          <ModelChoice value={model} models={choices} recorded={session.recorded} onChoose={setChosen} />
          <TextField label="Hint for its agents (optional)" multiline minRows={2} maxRows={8} fullWidth size="small" value={hint} onChange={(event) => setHint(event.target.value)} />
          {(fork.error ?? trace.error) && <Failure what="It could not be forked." error={fork.error ?? trace.error} />}
        </Stack>
      </DialogContent>
      <DialogActions>
        <Button onClick={onClose}>Keep it as it is</Button>
        <Button variant="contained" disabled={turn === undefined || fork.isPending} onClick={() => turn !== undefined && fork.mutate(turn)}>
          Fork
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function ModelChoice({ value, models, recorded, onChoose }: { value: string; models: readonly ModelItem[]; recorded: boolean; onChoose: (name: string) => void }) {
  return (
    <TextField select size="small" label="Model" value={models.some(({ name }) => name === value) ? value : ""} onChange={(event) => onChoose(event.target.value)} slotProps={{ select: { displayEmpty: true }, inputLabel: { shrink: true } }}>
      {!recorded && <MenuItem value="">The same as before</MenuItem>}
      {models.map(({ name, model }) => (
        <MenuItem key={name} value={name}>
          {name === model ? name : `${name} (${model})`}
        </MenuItem>
      ))}
    </TextField>
  );
}
