/** A field for a message of a few lines: Enter sends it, Shift and Enter begin a new line, and it is emptied when the message was taken. */
import Stack from "@mui/material/Stack";
import TextField from "@mui/material/TextField";
import type { ReactNode } from "react";
import { useDraft } from "./use-draft";

interface MessageFormProps {
  /** Under what a message half written is kept. */
  draft: string;
  label: string;
  /** Nothing may be sent now. */
  held: boolean;
  onSend: (text: string) => Promise<unknown>;
  /** The button beside the field; `ready` says that there is something to send. */
  button: (ready: boolean) => ReactNode;
}

const isText = (value: unknown): value is string => typeof value === "string";

export function MessageForm({ draft, label, held, onSend, button }: MessageFormProps) {
  const [text, setText] = useDraft(draft, "", isText);
  const ready = text.trim() !== "" && !held;
  const submit = () => {
    if (!ready) return;
    void onSend(text.trim()).then(
      () => setText(""),
      () => undefined,
    );
  };
  return (
    <Stack
      component="form"
      direction="row"
      sx={{ gap: 1, alignItems: "flex-end" }}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <TextField
        multiline
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
    </Stack>
  );
}
