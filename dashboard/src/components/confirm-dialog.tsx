/** A dialog that asks before something is done. */
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogContentText from "@mui/material/DialogContentText";
import DialogTitle from "@mui/material/DialogTitle";
import Stack from "@mui/material/Stack";
import type { ReactNode } from "react";

interface ConfirmDialogProps {
  open?: boolean;
  title: ReactNode;
  text: ReactNode;
  /** Fields and errors below the text. */
  children?: ReactNode;
  /** The label of the button that closes the dialog and does nothing. */
  keep: string;
  onClose: () => void;
  /** The buttons that do it. */
  actions?: ReactNode;
  /** As wide as this instead of as wide as the text. */
  width?: "xs" | "sm";
  /** Whether a click beside the dialog closes it. */
  closesOutside?: boolean;
}

export function ConfirmDialog({ open = true, title, text, children, keep, onClose, actions, width, closesOutside = true }: ConfirmDialogProps) {
  return (
    <Dialog open={open} onClose={(_, reason) => (closesOutside || reason !== "backdropClick") && onClose()} {...(width ? { fullWidth: true, maxWidth: width } : {})}>
      <DialogTitle>{title}</DialogTitle>
      <DialogContent>
        <Stack spacing={2}>
          <DialogContentText>{text}</DialogContentText>
          {children}
        </Stack>
      </DialogContent>
      <DialogActions>
        <Button onClick={onClose}>{keep}</Button>
        {actions}
      </DialogActions>
    </Dialog>
  );
}
