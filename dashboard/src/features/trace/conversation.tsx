/** A conversation exactly as it was sent to a model. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { Bot, ScrollText, User, Wrench } from "lucide-react";
import type { ReactNode } from "react";
import { useState } from "react";
import type { Face } from "@/components/badge";
import { Badge } from "@/components/badge";
import { DataView } from "@/components/data-view";
import { formatBytes, plural } from "@/components/format";
import type { Role, SentMessage } from "@/wire/types";

const ROLES = {
  system: { label: "System", tone: "neutral", icon: ScrollText },
  user: { label: "User", tone: "warning", icon: User },
  assistant: { label: "Assistant", tone: "running", icon: Bot },
  tool: { label: "Tool", tone: "good", icon: Wrench },
} satisfies Record<Role, Face>;

export function Conversation({ messages, actions }: { messages: readonly SentMessage[]; actions?: ReactNode }) {
  return (
    <Box>
      <Stack direction="row" sx={{ alignItems: "center", flexWrap: "wrap", columnGap: 1, mb: 1 }}>
        <Typography variant="h3" sx={{ flex: 1 }}>
          Conversation as sent
          <Typography component="span" variant="caption" color="textSecondary" sx={{ ml: 1 }}>
            {plural(messages.length, "message")}
          </Typography>
        </Typography>
        {actions}
      </Stack>
      <Stack spacing={0.75}>
        {messages.map((message, index) => (
          <Message key={index} message={message} last={index === messages.length - 1} />
        ))}
      </Stack>
    </Box>
  );
}

function Message({ message, last }: { message: SentMessage; last: boolean }) {
  // A conversation may have hundreds of messages of hundreds of lines: what is folded is not in the page.
  const [open, setOpen] = useState(last);
  const notes = [message.tool_name, formatBytes(message.content.length), message.compacted_later ? "shortened in later calls" : null];
  return (
    <Box component="details" open={open} onToggle={(event: React.ToggleEvent<HTMLDetailsElement>) => setOpen(event.currentTarget.open)} sx={{ border: 1, borderColor: "divider", borderRadius: 1, px: 1.25, py: 0.75, "&[open] summary": { mb: 1 } }}>
      <Box component="summary" sx={{ cursor: "pointer", fontSize: "0.85rem" }}>
        <Badge face={ROLES[message.role]} />
        <Typography component="span" variant="caption" color="textSecondary" sx={{ ml: 1 }}>
          {notes.filter((note) => note !== null).join(" · ")}
        </Typography>
      </Box>
      {open && (
        <Stack spacing={1}>
          {message.content !== "" && <DataView text={message.content} label={ROLES[message.role].label} raw maxHeight={360} />}
          {message.tool_calls.map((call) => (
            <DataView key={call.id} text={call.arguments} label={`Calls ${call.name}`} maxHeight={200} />
          ))}
        </Stack>
      )}
    </Box>
  );
}
