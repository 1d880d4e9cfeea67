/** A field for a message of a few lines. Enter sends it, Shift and Enter start a new line. The field is emptied when the message was accepted. */
import TextField from "@mui/material/TextField";
import type { ReactNode } from "react";
import { useRef } from "react";
import { Form } from "./fields";
import { useDraft } from "./draft";

interface MessageFormProps {
  /** The key under which the unsent text is stored. */
  draft: string;
  label: string;
  /** Sending is not possible now. */
  disabled: boolean;
  onSend: (text: string) => Promise<unknown>;
  /** The button beside the field; `ready` if there is text to send. */
  button: (ready: boolean) => ReactNode;
}

export function MessageForm({ draft, label, disabled, onSend, button }: MessageFormProps) {
  const [text, setText] = useDraft(draft, "", (value) => typeof value === "string");
  const field = useRef<HTMLTextAreaElement>(null);
  const ready = text.trim() !== "" && !disabled;
  const submit = () => {
    if (!ready) return;
    void onSend(text.trim()).then(
      // More may have been typed meanwhile.
      () => (field.current?.value ?? text) === text && setText(""),
      () => undefined,
    );
  };
  return (
    <Form direction="row" sx={{ gap: 1, alignItems: "flex-end" }} onSubmit={submit}>
      <TextField
        multiline
        inputRef={field}
        maxRows={8}
        fullWidth
        size="small"
        label={label}
        value={text}
        onChange={(event) => setText(event.target.value)}
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
