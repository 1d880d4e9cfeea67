import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { LLMCallDetail, SentMessage } from "@/wire/types";
import { Conversation, conversationText } from "./conversation";

const message = (content: string): SentMessage => ({ role: "tool", content, tool_name: "pods_log", tool_call_id: null, tool_calls: [], compacted_later: false }) as unknown as SentMessage;

test("of a long conversation only what is open is in the page", async () => {
  const { container } = render(<Conversation messages={Array.from({ length: 40 }, (_, index) => message(`line ${index}`))} />);
  expect(container.querySelectorAll("pre")).toHaveLength(1);
  expect(screen.getByText("line 39")).toBeTruthy();
  const first = container.querySelector("details");
  if (!first) throw new Error("no message");
  first.open = true;
  expect(await screen.findByText("line 0")).toBeTruthy();
});

test("a conversation is copied whole: what was sent, the tools that were called, and the answer", () => {
  const sent = (role: string, content: string, more = {}) => ({ role, content, tool_calls: [], tool_call_id: null, tool_name: null, compacted_later: false, ...more });
  const call = {
    conversation: [sent("system", "Be brief."), sent("assistant", "", { tool_calls: [{ id: "1", name: "k8s.get", arguments: '{"a":1}' }] }), sent("tool", "0/1 ready", { tool_name: "k8s.get" })],
    response: { chunks: [{ thinking: "Hm." }, { text: "It crashes." }, { tool_call: { id: "2", name: "k8s.log", arguments: "{}" } }, { usage: {} }] },
  } as unknown as LLMCallDetail;
  expect(conversationText(call)).toBe(`## System

Be brief.

## Assistant

Calls k8s.get: {"a":1}

## Tool (k8s.get)

0/1 ready

## Answer

It crashes.

Calls k8s.log: {}
`);
});
