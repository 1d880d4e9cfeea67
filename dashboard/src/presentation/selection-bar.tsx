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
  const [asked, setAsked] = useState<string | null>(null);
  if (count === 0) return null;
  const action = actions.find(({ label }) => label === asked);
  return (
    <Paper component="section" aria-label={`Selected ${noun}s`} variant="outlined" sx={{ position: "sticky", bottom: 12, zIndex: 3, display: "flex", alignItems: "center", flexWrap: "wrap", gap: 1, px: 2, py: 1, boxShadow: 6 }}>
      <Typography variant="body2" role="status" sx={{ fontWeight: 600, mr: 1 }}>
        {plural(count, noun)} selected
      </Typography>
      {actions.map(({ label, icon, operation, ids, destructive = false }) => (
        <Allowed key={label} operation={operation}>
          <Button size="small" color={destructive ? "error" : "primary"} startIcon={icon} disabled={ids.length === 0} onClick={() => setAsked(label)}>
            {label} {ids.length > 0 && ids.length.toLocaleString()}
          </Button>
        </Allowed>
      ))}
      {children}
      <Button size="small" color="inherit" startIcon={<X size={15} />} onClick={onClear}>
        Clear
      </Button>
      {action && <SelectionActionDialog {...{ noun, action, queryKey }} onClose={() => setAsked(null)} onDone={onClear} />}
    </Paper>
  );
}

interface SelectionActionDialogProps extends Pick<SelectionBarProps, "noun" | "queryKey"> {
  action: SelectionAction;
  onClose: () => void;
  onDone: () => void;
}

function SelectionActionDialog({ noun, action: { label, ids, run, text, failure, destructive = false, cancelLabel = "Cancel", confirmLabel = `${label} ${plural(ids.length, noun)}` }, queryKey, onClose, onDone }: SelectionActionDialogProps) {
  const client = useQueryClient();
  const mutation = useMutation({
    mutationFn: () => run(ids),
    onSuccess: () => {
      onClose();
      onDone();
    },
    onSettled: () => refetchChanged(client, queryKey),
  });
  return <ActionDialog title={`${label} ${plural(ids.length, noun)}?`} {...{ text, cancelLabel, onClose, mutation, failure, destructive }} label={confirmLabel} onConfirm={mutation.mutate} />;
}
