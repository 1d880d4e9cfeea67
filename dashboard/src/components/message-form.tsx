/** A field for a message of a few lines. Enter sends it, Shift and Enter start a new line. The field is emptied when the message was accepted. */
import TextField from "@mui/material/TextField";
import type { ReactNode, SetStateAction } from "react";
import { Form } from "./fields";

interface MessageFormProps {
  text: string;
  onText: (text: SetStateAction<string>) => void;
  label: string;
  /** Sending is not possible now. */
  disabled: boolean;
  onSend: (text: string) => Promise<unknown>;
  /** The button beside the field; `ready` if there is text to send. */
  button: (ready: boolean) => ReactNode;
}

export function MessageForm({ text, onText, label, disabled, onSend, button }: MessageFormProps) {
  const ready = text.trim() !== "" && !disabled;
  const submit = () => {
    if (!ready) return;
    void onSend(text.trim()).then(
      // More may have been typed meanwhile.
      () => onText((now) => (now === text ? "" : now)),
      () => undefined,
    );
  };
  return (
    <Form direction="row" sx={{ gap: 1, alignItems: "flex-end" }} onSubmit={submit}>
      <TextField
        multiline
        maxRows={8}
        fullWidth
        size="small"
        label={label}
        value={text}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          submit();
        }}
      />
      {button(ready)}
    </Form>
  );
}
