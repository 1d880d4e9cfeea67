/** What the investigations of an incident were told while they ran. */
import Box from "@mui/material/Box";
import { TextLink } from "@/components/links";
import { Section } from "@/components/section";
import { NoteLine } from "@/presentation/note-line";
import type { Note } from "@/wire/types";

export function Notes({ notes }: { notes: Note[] }) {
  if (notes.length === 0) return null;
  return (
    <Section title="Notes to its investigations">
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {notes.map((note) => (
          <NoteLine key={`${note.session_id} ${note.id}`} note={note}>
            <TextLink to="/sessions/$sessionId" params={{ sessionId: note.session_id }}>
              Session
            </TextLink>
          </NoteLine>
        ))}
      </Box>
    </Section>
  );
}
