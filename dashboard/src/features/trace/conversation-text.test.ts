import { expect, test } from "vitest";
import type { LLMCallDetail } from "@/wire/types";
import { conversationText } from "./conversation-text";

test("a conversation is copied whole: what was sent, the tools that were called, and the answer", () => {
  const said = (role: string, content: string, more = {}) => ({ role, content, tool_calls: [], tool_call_id: null, tool_name: null, compacted_later: false, ...more });
  const call = {
    conversation: [said("system", "Be brief."), said("assistant", "", { tool_calls: [{ id: "1", name: "k8s.get", arguments: '{"a":1}' }] }), said("tool", "0/1 ready", { tool_name: "k8s.get" })],
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
