/** Notes: messages to the agents of a running session. A kind or state without a badge does not compile. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { BellRing, CheckCheck, CircleCheck, Clock, Hourglass, Lightbulb } from "lucide-react";
import type { ReactNode } from "react";
import type { BadgeStyle } from "@/components/badge";
import { Badge } from "@/components/badge";
import { RelativeTime } from "@/components/times";
import type { Note, NoteKind, NoteState } from "@/wire/types";

const NOTE_BADGES = {
  hint: { label: "Hint", tone: "running", icon: Lightbulb },
  alerts: { label: "Update about the alerts", tone: "warning", icon: BellRing },
  resolved: { label: "The alerts have resolved", tone: "good", icon: CircleCheck },
} satisfies Record<NoteKind, BadgeStyle>;

const NOTE_STATE_BADGES = {
  waiting: { label: "Read before the next model call", tone: "running", icon: Hourglass },
  delivered: { label: "Told", tone: "good", icon: CheckCheck },
  too_late: { label: "Came too late", tone: "warning", icon: Clock },
} satisfies Record<NoteState, BadgeStyle>;

/** Undefined for a kind that this page does not know: the server may be newer. */
export function noteBadge(kind: unknown): BadgeStyle | undefined {
  return new Map<unknown, BadgeStyle>(Object.entries(NOTE_BADGES)).get(kind);
}

export function NoteLine({ note, children }: { note: Note; children?: ReactNode }) {
  const state = NOTE_STATE_BADGES[note.state];
  const delivered = note.told.length > 0 ? `${state.label} to ${note.told.join(", ")}` : state.label;
  return (
    <Box component="li" sx={{ py: 1, borderTop: 1, borderColor: "divider", "&:first-of-type": { borderTop: 0 } }}>
      <Typography variant="body2" component="div" sx={{ display: "flex", flexWrap: "wrap", alignItems: "center", columnGap: 1.5, rowGap: 0.5 }}>
        <Badge badge={NOTE_BADGES[note.kind]} />
        <Box component="span" sx={{ color: "text.secondary" }}>
          {note.author} · <RelativeTime at={note.created_at} />
        </Box>
        <Badge badge={state} label={delivered} />
        {children}
      </Typography>
      <Typography variant="body2" dir="auto" sx={{ mt: 0.5, whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {note.text}
      </Typography>
    </Box>
  );
}
