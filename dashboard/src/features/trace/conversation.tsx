/** The conversation that was sent to a model. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { Bot, ScrollText, User, Wrench } from "lucide-react";
import type { ReactNode } from "react";
import { useMemo, useState } from "react";
import type { BadgeStyle } from "@/components/badge";
import { Badge } from "@/components/badge";
import { DataView } from "@/components/data-view";
import { formatTextSize, plural } from "@/components/format";
import type { LLMCallDetail, Role, SentMessage } from "@/wire/types";

const ROLES = {
  system: { label: "System", tone: "neutral", icon: ScrollText },
  user: { label: "User", tone: "warning", icon: User },
  assistant: { label: "Assistant", tone: "running", icon: Bot },
  tool: { label: "Tool", tone: "good", icon: Wrench },
} satisfies Record<Role, BadgeStyle>;

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
  // The content of a folded message is not rendered: there may be hundreds of long ones.
  const [open, setOpen] = useState(last);
  const size = useMemo(() => formatTextSize(message.content), [message.content]);
  const notes = [message.tool_name, size, message.compacted_later ? "shortened in later calls" : null];
  return (
    <Box component="details" open={open} onToggle={(event: React.ToggleEvent<HTMLDetailsElement>) => setOpen(event.currentTarget.open)} sx={{ border: 1, borderColor: "divider", borderRadius: 1, px: 1.25, py: 0.75, "&[open] summary": { mb: 1 } }}>
      <Box component="summary" sx={{ cursor: "pointer", fontSize: "0.85rem" }}>
        <Badge badge={ROLES[message.role]} />
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

const HEADS = { system: "System", user: "User", assistant: "Assistant", tool: "Tool" } satisfies Record<SentMessage["role"], string>;

/** The conversation and the answer as one text. */
export function conversationText(call: Pick<LLMCallDetail, "conversation" | "response">): string {
  return [...call.conversation.map(messageText), ...answerTexts(call.response)].join("\n\n") + "\n";
}

function messageText(message: SentMessage): string {
  const head = message.tool_name ? `${HEADS[message.role]} (${message.tool_name})` : HEADS[message.role];
  const calls = message.tool_calls.map((call) => `Calls ${call.name}: ${call.arguments}`);
  return [`## ${head}`, ...[message.content, ...calls].filter((part) => part !== "")].join("\n\n");
}

function answerTexts(response: LLMCallDetail["response"]): string[] {
  const chunks: unknown = response?.["chunks"];
  const texts = Array.isArray(chunks) ? chunks.flatMap(chunkText) : [];
  return texts.length === 0 ? [] : [["## Answer", ...texts].join("\n\n")];
}

/** Text and tool calls; thinking is not part of the conversation. */
function chunkText(chunk: unknown): string[] {
  if (typeof chunk !== "object" || chunk === null) return [];
  if ("text" in chunk && typeof chunk.text === "string") return [chunk.text];
  if (!("tool_call" in chunk) || typeof chunk.tool_call !== "object" || chunk.tool_call === null) return [];
  const { name, arguments: args } = chunk.tool_call as { name?: unknown; arguments?: unknown };
  return [`Calls ${String(name)}: ${typeof args === "string" ? args : JSON.stringify(args)}`];
}
