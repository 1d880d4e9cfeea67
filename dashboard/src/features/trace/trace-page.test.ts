import { expect, test } from "vitest";
import type { LiveMessage } from "@/wire/live-messages";
import { changesTrace } from "./trace-page";

test("a trace is fetched again when a call is done and when its session has ended, which can be forked then", () => {
  const stored = { channel: "session:s", session_id: "s", id: 1 };
  const messages: LiveMessage[] = [
    { ...stored, type: "interaction.created", interaction_id: "i", interaction_type: "llm" },
    { ...stored, type: "session.completed", status: "completed", alert_type: "t", at: "", error_message: null, analysis_is_partial: false },
    { type: "stream.chunk", channel: "session:s", session_id: "s", event_id: "e", offset: 0, delta: "a" },
  ];
  expect(messages.map(changesTrace)).toEqual([true, true, false]);
});
