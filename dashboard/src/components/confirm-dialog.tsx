/** Dialogs that ask before something is done. Render them only while they are asked for: each begins without the input and the error of the last one. */
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogContentText from "@mui/material/DialogContentText";
import DialogTitle from "@mui/material/DialogTitle";
import Stack from "@mui/material/Stack";
import type { ReactNode } from "react";
import { Failure } from "./states";

interface ConfirmDialogProps {
  title: ReactNode;
  text: ReactNode;
  /** Fields below the text. A dialog with fields is not closed by a click beside it. */
  children?: ReactNode;
  /** Why it could not be done. */
  failure?: ReactNode;
  /** The label of the button that closes the dialog and does nothing. */
  cancelLabel?: string;
  onClose: () => void;
  /** The buttons that do it. */
  actions?: ReactNode;
  /** As wide as this instead of as wide as the text. */
  width?: "xs" | "sm";
  /** Only the button closes the dialog. */
  closesByButtonOnly?: boolean;
}

export function ConfirmDialog({ title, text, children, failure, cancelLabel = "Cancel", onClose, actions, width, closesByButtonOnly = false }: ConfirmDialogProps) {
  return (
    <Dialog
      open
      onClose={(_, reason) => {
        if (!closesByButtonOnly && (reason === "escapeKeyDown" || children === undefined)) onClose();
      }}
      {...(width ? { fullWidth: true, maxWidth: width } : {})}
    >
      <DialogTitle>{title}</DialogTitle>
      <DialogContent>
        <Stack spacing={2}>
          <DialogContentText>{text}</DialogContentText>
          {children}
          {failure}
        </Stack>
      </DialogContent>
      <DialogActions>
        <Button onClick={onClose}>{cancelLabel}</Button>
        {actions}
      </DialogActions>
    </Dialog>
  );
}

interface ActionDialogProps<Result> extends Omit<ConfirmDialogProps, "failure" | "actions"> {
  /** Its own callbacks are called also after the dialog was closed: for showing what has changed on the server. */
  mutation: { isPending: boolean; error: unknown; mutate: (variables: undefined, options: { onSuccess: (result: Result) => void }) => void };
  /** The label of the button that does it. */
  label: string;
  /** Called when it is done, unless the dialog was closed meanwhile. By default, the dialog is closed. */
  onDone?: (result: Result) => void;
  /** What is shown before the message of an error. */
  failure: string;
  /** It ends or deletes something. */
  destructive?: boolean;
  disabled?: boolean;
}

/** Asks before one mutation, and shows its progress and its error. */
export function ActionDialog<Result>({ mutation, label, onDone, failure, destructive = false, disabled = false, ...dialog }: ActionDialogProps<Result>) {
  return (
    <ConfirmDialog
      {...dialog}
      failure={mutation.error !== null && <Failure what={failure} error={mutation.error} />}
      actions={
        <Button color={destructive ? "error" : "primary"} variant="contained" disabled={disabled} loading={mutation.isPending} onClick={() => mutation.mutate(undefined, { onSuccess: onDone ?? dialog.onClose })}>
          {label}
        </Button>
      }
    />
  );
}
