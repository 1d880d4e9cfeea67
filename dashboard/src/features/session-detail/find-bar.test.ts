import { expect, test } from "vitest";
import type { StageView, TimelineEvent } from "@/wire/types";
import { findEntries, stepFrom } from "./find-bar";

const STAGES = [
  { id: "s1", executions: [{ id: "a" }, { id: "b" }] },
  { id: "s2", executions: [{ id: "c" }] },
] as unknown as StageView[];
const event = (id: string, stage_id: string | null, execution_id: string | null, content: string, event_type = "llm_response", metadata = {}) => ({ id, stage_id, execution_id, content, event_type, metadata }) as TimelineEvent;
const EVENTS = [
  event("0", null, null, "The runbook could not be read: OOM."),
  event("1", "s1", "b", "second agent: oom"),
  event("2", "s1", "a", '{"pod":"cart"}', "llm_tool_call", { call_id: "x", tool_name: "pods_log", server_name: "k8s", evidence_id: "A1" }),
  event("3", "s1", "a", "killed: OOM\nkilled: OOM", "tool_result", { call_id: "x", tool_name: "pods_log", server_name: "k8s", evidence_id: "A1" }),
  event("4", "s2", "c", "No trace of it."),
];

test("words are found in the texts of agents and in the results of tools, in the order of the page", () => {
  expect(findEntries(STAGES, EVENTS, "OOM")).toEqual(["0", "3", "1"]);
  expect(findEntries(STAGES, EVENTS, " of it")).toEqual(["4"]);
});

test("a call and its result are one place, found by the tool's name and by its evidence too", () => {
  expect(findEntries(STAGES, EVENTS, "k8s.pods_log")).toEqual(["2"]);
  expect(findEntries(STAGES, EVENTS, "a1")).toEqual(["2"]);
});

test("a letter finds nothing: it would find everything", () => {
  expect(findEntries(STAGES, EVENTS, "o")).toEqual([]);
});

test("next and previous go round", () => {
  expect([stepFrom(-1, 1, 3), stepFrom(2, 1, 3), stepFrom(0, -1, 3), stepFrom(-1, -1, 3)]).toEqual([0, 0, 2, 2]);
});
