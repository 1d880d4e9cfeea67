import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { useSubAgents } from "@/presentation/sub-agents";
import type { ChatMessage, StageView, TimelineEvent } from "@/wire/types";
import { Exchange } from "./chat-panel";

const event = (id: string, more: Partial<TimelineEvent>): TimelineEvent =>
  ({ id, stage_id: "s", execution_id: "chat", status: "completed", content: "", metadata: {}, created_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T00:00:01Z", ...more }) as TimelineEvent;
const sends = { call_id: "1", server_name: "tarsy", tool_name: "run_agent", evidence_id: "Q1.1" };
const EVENTS = [
  event("1", { event_type: "llm_tool_call", content: "{}", metadata: sends }),
  event("2", { event_type: "llm_response", execution_id: "logs", content: "I read the log." }),
  event("3", { event_type: "final_analysis", execution_id: "logs", content: "No space left." }),
  event("4", { event_type: "tool_result", content: "LogAgent reports: No space left.", metadata: sends }),
  event("5", { event_type: "final_analysis", content: "The disk is full." }),
];
const STAGE = {
  id: "s",
  executions: [
    { id: "chat", agent_name: "ChatAgent", parent_execution_id: null, status: "completed" },
    { id: "logs", agent_name: "LogAgent", parent_execution_id: "chat", dispatched_by: "Q1.1", task: "What does it say?", status: "completed", error_message: null },
  ],
} as unknown as StageView;
const MESSAGE = { id: "m", stage_id: "s", content: "Is it full?", author: "ada", created_at: "2026-01-01T00:00:00Z", status: "completed" } as ChatMessage;

function Shown() {
  return <Exchange message={MESSAGE} stage={STAGE} events={EVENTS} subAgents={useSubAgents([STAGE])} />;
}

test("an agent that an answer sent stands there with its task and its report, and its work can be opened", async () => {
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Shown />
    </QueryClientProvider>,
  );
  expect(screen.getByText("LogAgent was sent")).toBeTruthy();
  expect(screen.getByText("What does it say?")).toBeTruthy();
  expect(screen.getByRole("region", { name: "Report of LogAgent" }).textContent).toContain("No space left.");
  expect(screen.queryByText("run_agent")).toBeNull();
  expect(screen.queryByText("I read the log.")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Show its work" }));
  expect(screen.getByText("I read the log.")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Back to the call that sent LogAgent" })).toBeTruthy();
  expect(screen.getByText("Answer")).toBeTruthy();
});
