import { render, screen } from "@testing-library/react";
import { test, vi } from "vitest";
import type { ExecutionView, StageView, TimelineEvent, TimelineEventType } from "@/wire/types";
import { Timeline } from "./timeline";

function event(id: string, event_type: TimelineEventType, more: Partial<TimelineEvent> = {}): TimelineEvent {
  return { id, stage_id: "s1", execution_id: "x1", sequence_number: 1, event_type, status: "completed", content: "", metadata: {}, evidence_id: null, created_at: "2026-01-02T03:04:05Z", completed_at: null, ...more };
}
const execution = (id: string, more: Partial<ExecutionView> = {}) =>
  ({ id, agent_name: id, status: "completed", parent_execution_id: null, dispatched_by: null, task: null, error_message: null, started_at: null, completed_at: null, usage: { total_tokens: 0 }, ...more }) as ExecutionView;
const stage = (...executions: ExecutionView[]) => ({ id: "s1", stage_name: "look", status: "completed", error_message: null, started_at: null, completed_at: null, executions }) as unknown as StageView;

/** Shows a timeline with a target. Effects that run again and again, of which React warns, fail the test. */
function show(stages: StageView[], events: TimelineEvent[], target: string) {
  vi.spyOn(console, "error").mockImplementation((message: unknown) => {
    throw new Error(String(message));
  });
  const nothing = () => undefined;
  render(<Timeline {...{ stages, events, target }} currentEvent={(known) => known} growing={false} stageTarget={null} repeated={new Set()} onLink={(id) => id} onCancelAgent={nothing} onFollowing={nothing} />);
}

test("the result of a call that sent an agent is found at that call", () => {
  const metadata = { call_id: "1", tool_name: "run_agent", evidence_id: "A1" };
  const sent = execution("LogAgent", { parent_execution_id: "x1", dispatched_by: "A1", task: "Look." });
  show([stage(execution("x1"), sent)], [event("call", "llm_tool_call", { metadata }), event("result", "tool_result", { metadata })], "result");
  screen.getByText("LogAgent was sent");
});

test("an event that has no row is looked for once", () => {
  const sent = execution("LogAgent", { parent_execution_id: "x1", dispatched_by: "A1" });
  show([stage(execution("x1"), sent)], [event("own", "llm_thinking"), event("hidden", "llm_thinking", { execution_id: "LogAgent" })], "hidden");
  screen.getByText("look");
});
