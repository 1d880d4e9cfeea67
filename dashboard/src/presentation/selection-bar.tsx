/** The bar with the actions on the selected rows of a list. */
import Button from "@mui/material/Button";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import type { QueryKey } from "@tanstack/react-query";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useState } from "react";
import { refetchChanged } from "@/api/refetch";
import { ActionDialog } from "@/components/confirm-dialog";
import { plural } from "@/components/format";
import type { Operation } from "@/wire/types";
import { Allowed } from "./allowed";

interface SelectionAction {
  label: string;
  icon: ReactNode;
  operation: Operation;
  /** The ids of the selected rows for which it is possible. */
  ids: readonly string[];
  run: (ids: readonly string[]) => Promise<unknown>;
  /** The text of the dialog that asks before it, and the labels of its buttons. */
  text: string;
  confirmLabel?: string;
  cancelLabel?: string;
  failure: string;
  destructive?: boolean;
}

interface SelectionBarProps {
  noun: "session" | "incident";
  count: number;
  actions: readonly SelectionAction[];
  /** The queries that the actions change. */
  queryKey: QueryKey;
  onClear: () => void;
  /** More buttons. */
  children?: ReactNode;
}

export function SelectionBar({ noun, count, actions, queryKey, onClear, children }: SelectionBarProps) {
  // The rows are those that were selected when the dialog was opened.
  const [asked, setAsked] = useState<SelectionAction | null>(null);
  if (count === 0 && asked === null) return null;
  return (
    <Paper component="section" aria-label={`Selected ${noun}s`} variant="outlined" sx={{ position: "sticky", bottom: 12, zIndex: 3, display: "flex", alignItems: "center", flexWrap: "wrap", gap: 1, px: 2, py: 1, boxShadow: 6 }}>
      <Typography variant="body2" role="status" sx={{ fontWeight: 600, mr: 1 }}>
        {plural(count, noun)} selected
      </Typography>
      {actions.map((action) => (
        <Allowed key={action.label} operation={action.operation}>
          <Button size="small" color={action.destructive ? "error" : "primary"} startIcon={action.icon} disabled={action.ids.length === 0} onClick={() => setAsked(action)}>
            {action.label} {action.ids.length > 0 && action.ids.length.toLocaleString()}
          </Button>
        </Allowed>
      ))}
      {children}
      <Button size="small" color="inherit" startIcon={<X size={15} />} onClick={onClear}>
        Clear
      </Button>
      {asked && <SelectionActionDialog {...{ noun, queryKey, onClear }} action={asked} onClose={() => setAsked(null)} />}
    </Paper>
  );
}

interface SelectionActionDialogProps extends Pick<SelectionBarProps, "noun" | "queryKey" | "onClear"> {
  action: SelectionAction;
  onClose: () => void;
}

function SelectionActionDialog({ noun, action: { label, ids, run, text, failure, destructive = false, cancelLabel = "Cancel", confirmLabel = `${label} ${plural(ids.length, noun)}` }, queryKey, onClear, onClose }: SelectionActionDialogProps) {
  const client = useQueryClient();
  const mutation = useMutation({ mutationFn: () => run(ids), onSettled: () => void refetchChanged(client, queryKey) });
  const onDone = () => {
    onClose();
    onClear();
  };
  return <ActionDialog title={`${label} ${plural(ids.length, noun)}?`} {...{ text, cancelLabel, onClose, onDone, mutation, failure, destructive }} label={confirmLabel} />;
}
