import { expect, test } from "vitest";
import type { LLMCallItem, SessionDetail } from "@/wire/types";
import { callOfEntry, describeForkPoint, forkRefusal, withOwnTimes } from "./forks";

const call = (turn: number, second: number, more = {}) => ({ turn, kind: "iteration", execution_id: "x", started_at: `2026-01-01T00:00:0${second}.5Z`, ...more }) as LLMCallItem;

test("an entry leads to the call of its agent that it came of", () => {
  const calls = [call(0, 1), call(1, 4), call(7, 2, { kind: "summarization" }), call(3, 2, { execution_id: "y" })];
  expect(callOfEntry(calls, "x", "2026-01-01T00:00:03Z")?.turn).toBe(0);
  expect(callOfEntry(calls, "x", "2026-01-01T00:00:05Z")?.turn).toBe(1);
  expect(callOfEntry(calls, "x", "2026-01-01T00:00:01Z")).toBeUndefined();
});

test("agents can be forked once the session has ended, also those that others sent; answers to questions say why they cannot", () => {
  const stages = [
    { stage_type: "investigation", executions: [{ id: "lead", parent_execution_id: null }, { id: "sent", parent_execution_id: "lead" }] },
    { stage_type: "chat", executions: [{ id: "answer", parent_execution_id: null }] },
  ] as unknown as SessionDetail["stages"];
  const refusal = (id: string) => forkRefusal({ status: "completed", stages }, id);
  expect(refusal("lead")).toBeNull();
  expect(refusal("sent")).toBeNull();
  expect(refusal("answer")).toContain("ask again");
  expect(forkRefusal({ status: "in_progress", stages }, "lead")).toContain("still running");
});

test("a fork names the step it goes on from", () => {
  const step = { session_id: "s", stage: "look", agent: "LogAgent", turn: 1, model: null };
  expect(describeForkPoint({ ...step, dispatched_by: null })).toBe("turn 2 of LogAgent");
  expect(describeForkPoint({ ...step, dispatched_by: "A2" })).toBe("turn 2 of LogAgent (A2)");
});

test("a stage that a fork continues began for the fork when the fork began", () => {
  const [before, begun, after] = ["2026-01-01T00:00:00Z", "2026-01-01T05:00:00Z", "2026-01-01T05:01:00Z"];
  const run = (started_at: string, completed_at: string) => ({ started_at, completed_at, executions: [] });
  const session = { fork: {}, created_at: begun, started_at: begun, stages: [run(before, before), run(before, after)] } as unknown as SessionDetail;
  expect(withOwnTimes(session).stages.map((stage) => stage.started_at)).toEqual([before, begun]);
});
