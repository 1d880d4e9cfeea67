/** A note with what became of it. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import type { ReactNode } from "react";
import { Badge } from "@/components/badge";
import { RelativeTime } from "@/components/times";
import type { Note } from "@/wire/types";
import { NOTE_FACES, NOTE_STATE_FACES } from "./notes";

export function NoteLine({ note, children }: { note: Note; children?: ReactNode }) {
  const state = NOTE_STATE_FACES[note.state];
  const told = note.told.length > 0 ? `${state.label} to ${note.told.join(", ")}` : state.label;
  return (
    <Box component="li" sx={{ py: 1, borderTop: 1, borderColor: "divider", "&:first-of-type": { borderTop: 0 } }}>
      <Typography variant="body2" component="div" sx={{ display: "flex", flexWrap: "wrap", alignItems: "center", columnGap: 1.5, rowGap: 0.5 }}>
        <Badge face={NOTE_FACES[note.kind]} />
        <Box component="span" sx={{ color: "text.secondary" }}>
          {note.author} · <RelativeTime at={note.created_at} />
        </Box>
        <Badge face={state} label={told} />
        {children}
      </Typography>
      <Typography variant="body2" dir="auto" sx={{ mt: 0.5, whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {note.text}
      </Typography>
    </Box>
  );
}
