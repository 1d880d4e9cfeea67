/** Continues an investigation from one of its steps as a new session: with another model, with a hint, or both. */
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import MenuItem from "@mui/material/MenuItem";
import TextField from "@mui/material/TextField";
import Tooltip from "@mui/material/Tooltip";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { GitFork } from "lucide-react";
import { useState } from "react";
import { forkSession, models, sessionDetail } from "@/api/sessions";
import { traceList } from "@/api/trace";
import { ActionDialog } from "@/components/confirm-dialog";
import { Failure } from "@/components/states";
import type { SessionDetail } from "@/wire/types";
import { useDenial } from "./allowed";
import type { ForkPoint } from "./forks";
import { callOfEntry, forkRefusal, NOT_A_STEP } from "./forks";

interface ForkButtonProps {
  sessionId: string;
  executionId: string;
  /** Null for a call that does not start a step. */
  turn: number | null;
}

/** Forks an investigation at a call. Where that is not possible, a tooltip gives the reason. */
export function ForkButton({ sessionId, executionId, turn }: ForkButtonProps) {
  const [open, setOpen] = useState(false);
  const { data: session } = useQuery(sessionDetail(sessionId));
  const { data } = useQuery(models);
  const denial = useDenial("forkSession");
  if (!session || !data || data.models.length === 0) return null;
  const refusal = denial ?? forkRefusal(session, executionId) ?? (turn === null ? NOT_A_STEP : null);
  return (
    <>
      <Tooltip title={refusal ?? ""} describeChild enterTouchDelay={0}>
        <Button size="small" startIcon={<GitFork size={15} />} aria-disabled={refusal !== null} onClick={() => setOpen(refusal === null)} sx={refusal === null ? {} : { color: "text.disabled", cursor: "not-allowed" }}>
          Fork from here
        </Button>
      </Tooltip>
      {open && turn !== null && <ForkDialog session={session} point={{ executionId, turn }} onClose={() => setOpen(false)} />}
    </>
  );
}

interface ForkDialogProps {
  session: SessionDetail;
  point: ForkPoint;
  onClose: () => void;
}

export function ForkDialog({ session, point, onClose }: ForkDialogProps) {
  const navigate = useNavigate();
  const trace = useQuery({ ...traceList(session.id), enabled: "at" in point });
  const turn = "turn" in point ? point.turn : trace.data && callOfEntry(trace.data.llm, point.executionId, point.at)?.turn;
  const choices = useQuery(models).data?.models ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  // A recorded model can only repeat itself.
  const model = chosen ?? (session.recorded ? (choices[0]?.name ?? "") : "");
  const [hint, setHint] = useState("");
  const fork = useMutation({
    // The dialog is disabled until the turn is known.
    mutationFn: () => forkSession(session.id, { execution_id: point.executionId, turn: turn as number, ...(model === "" ? {} : { model }), ...(hint.trim() === "" ? {} : { hint: hint.trim() }) }),
  });
  const onDone = (sessionId: string) => {
    onClose();
    void navigate({ to: "/sessions/$sessionId", params: { sessionId }, search: {} });
  };
  const executions = session.stages.flatMap((stage) => stage.executions);
  const execution = executions.find(({ id }) => id === point.executionId);
  const agent = execution?.agent_name ?? "the agent";
  const parent = executions.find(({ id }) => id === execution?.parent_execution_id)?.agent_name;
  return (
    <ActionDialog
      width="sm"
      title={turn === undefined ? "Fork from here" : `Fork from turn ${turn + 1} of ${agent}`}
      text={<>A new session starts with a copy of all steps before this one and continues by itself. It calls its tools again. {parent && `${parent} waits for the new report of ${agent}. `}This session stays as it is.</>}
      onClose={onClose}
      mutation={fork}
      label="Fork"
      disabled={turn === undefined}
      onDone={onDone}
      failure="It could not be forked."
    >
      {trace.data && turn === undefined && <Alert severity="warning">No call of this agent was made before this entry: choose a later one.</Alert>}
      <TextField select size="small" label="Model" value={choices.some(({ name }) => name === model) ? model : ""} onChange={(event) => setChosen(event.target.value)} slotProps={{ select: { displayEmpty: true }, inputLabel: { shrink: true } }}>
        {!session.recorded && <MenuItem value="">The same as before</MenuItem>}
        {choices.map((choice) => (
          <MenuItem key={choice.name} value={choice.name}>
            {choice.name === choice.model ? choice.name : `${choice.name} (${choice.model})`}
          </MenuItem>
        ))}
      </TextField>
      <TextField label="Hint for its agents (optional)" multiline minRows={2} maxRows={8} fullWidth size="small" value={hint} onChange={(event) => setHint(event.target.value)} />
      {trace.error && <Failure what="It could not be forked." error={trace.error} />}
    </ActionDialog>
  );
}
