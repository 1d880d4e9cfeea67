/** Pure module: a conversation as one text, to be pasted elsewhere. */
import type { LLMCallDetail, SentMessage } from "@/wire/types";

const HEADS = { system: "System", user: "User", assistant: "Assistant", tool: "Tool" } satisfies Record<SentMessage["role"], string>;

/** What the model was sent and what it answered, in order, whole. */
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
  const said = Array.isArray(chunks) ? chunks.flatMap(chunkText) : [];
  return said.length === 0 ? [] : [["## Answer", ...said].join("\n\n")];
}

/** What a model said aloud, and which tools it asked for; what it thought is no part of the conversation. */
function chunkText(chunk: unknown): string[] {
  if (typeof chunk !== "object" || chunk === null) return [];
  if ("text" in chunk && typeof chunk.text === "string") return [chunk.text];
  if (!("tool_call" in chunk) || typeof chunk.tool_call !== "object" || chunk.tool_call === null) return [];
  const { name, arguments: given } = chunk.tool_call as { name?: unknown; arguments?: unknown };
  return [`Calls ${String(name)}: ${typeof given === "string" ? given : JSON.stringify(given)}`];
}
