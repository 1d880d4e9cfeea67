import { expect, test } from "vitest";
import type { TimelineEvent } from "@/wire/types";
import { evidenceEvent } from "./evidence-panel";

function event(id: string, event_type: TimelineEvent["event_type"], evidence: string): TimelineEvent {
  return { id, event_type, metadata: { evidence_id: evidence }, evidence_id: evidence, stage_id: "s", execution_id: "x", sequence_number: 1, status: "completed", content: "", created_at: "", completed_at: null };
}

test("evidence stands in the timeline where it was brought: the last result of a call, or a note", () => {
  const events = [event("call", "llm_tool_call", "A1"), event("lost", "tool_result", "A1"), event("came", "tool_result", "A1"), event("note", "note", "NOTE1")];
  expect(evidenceEvent(events, "A1")?.id).toBe("came");
  expect(evidenceEvent(events, "NOTE1")?.id).toBe("note");
  expect(evidenceEvent(events, "ALERT")).toBeUndefined();
});
