import { expect, test } from "vitest";
import type { LLMCallItem, MCPCallItem } from "@/wire/types";
import { barsPath, lanesOf, laneUsage, traceRows, usageText } from "./lanes";
import { waterfall } from "./waterfall";

const usage = { input_tokens: 100, output_tokens: 20, total_tokens: 120, thinking_tokens: 0, cached_tokens: 75 };
const llm = (id: string, second: number, execution_id: string) =>
  ({ id, kind: "iteration", turn: 0, model: "m", started_at: `2026-01-01T00:00:0${second}Z`, duration_ms: 500, first_chunk_ms: 10, error_message: null, execution_id, usage, cost_usd: 0.01 }) as LLMCallItem;
const mcp = (id: string, second: number, execution_id: string, more: Partial<MCPCallItem> = {}) =>
  ({ id, kind: "tool_call", server: "k8s", tool: "get", arguments_start: '{"namespace": "shop"}', started_at: `2026-01-01T00:00:0${second}Z`, duration_ms: 500, is_error: false, error_message: null, execution_id, ...more }) as MCPCallItem;

const SESSION = {
  stages: [
    {
      stage_name: "triage",
      executions: [
        { id: "lead", agent_name: "Lead", parent_execution_id: null },
        { id: "log", agent_name: "LogAgent", parent_execution_id: "lead", dispatched_by: "A1", task: "Look." },
      ],
    },
  ],
} as unknown as Parameters<typeof lanesOf>[1];
const TRACE = {
  llm: [llm("1", 0, "lead"), llm("3", 2, "log")],
  mcp: [mcp("2", 1, "lead", { server: "tarsy", tool: "run_agent", evidence_id: "A1" }), mcp("4", 3, "log", { is_error: true, error_message: "no such namespace" }), mcp("5", 4, "lead")],
};
const flow = waterfall(TRACE, SESSION);
const lanes = lanesOf(flow.calls, SESSION);
const keys = (shown: Partial<Parameters<typeof traceRows>[1]>) => traceRows(lanes, { folded: new Set(), window: null, words: "", only: null, ...shown }).map((row) => row.key);

test("the lane of an agent that was sent stands behind the call that sent it", () => {
  expect(keys({})).toEqual(["lane-lead", "llm:1", "mcp:2", "lane-log", "llm:3", "mcp:4", "mcp:5"]);
  expect(lanes.map(({ agent, stage, task, parentCall, depth }) => [agent, stage, task, parentCall, depth])).toEqual([
    ["Lead", "triage", null, null, 0],
    ["LogAgent", "triage", "Look.", "mcp:2", 1],
  ]);
});

test("a folded lane is a line of its own, and so are those of the agents it sent", () => {
  expect(keys({ folded: new Set(["lead", "log"]) })).toEqual(["lane-lead", "lane-log"]);
  expect(keys({ folded: new Set(["log"]) })).toEqual(["lane-lead", "llm:1", "mcp:2", "lane-log", "mcp:5"]);
});

test("calls are found by what they are, were called with or failed of, in folded lanes too", () => {
  expect(keys({ words: "NAMESPACE=shop get" })).toEqual(["lane-lead", "lane-log", "mcp:4", "mcp:5"]);
  expect(keys({ words: "no such", folded: new Set(["log"]) })).toEqual(["lane-lead", "lane-log", "mcp:4"]);
  expect(keys({ words: "nowhere" })).toEqual([]);
});

test("a call that sent an agent goes by its name and its task, and is found by its tool as well", () => {
  expect(flow.calls.find(({ key }) => key === "mcp:2")).toMatchObject({ label: "LogAgent was sent", detail: "Look.", tool: "tarsy.run_agent" });
  expect(keys({ words: "run_agent look" })).toEqual(["lane-lead", "mcp:2"]);
});

test("calls of one kind alone are shown, in folded lanes too", () => {
  expect(keys({ only: "bar-failed", folded: new Set(["log"]) })).toEqual(["lane-lead", "lane-log", "mcp:4"]);
  expect(keys({ only: "bar-tool" })).toEqual(["lane-lead", "mcp:2", "mcp:5"]);
});

test("a part of the axis has the calls that were under way in it", () => {
  expect(keys({ window: { from: 2_100, to: 3_100 } })).toEqual(["lane-lead", "lane-log", "llm:3", "mcp:4"]);
});

test("a call says what it used, how much of it was kept by the vendor, and what it cost", () => {
  const [first, second] = flow.calls;
  if (!first || !second || !lanes[0]) throw new Error("no calls");
  expect(usageText(first)).toBe("120 tokens · 75 % cached · $0.0100");
  expect(usageText(second)).toBe("");
  expect(laneUsage(lanes[0])).toBe("120 tokens · $0.0100");
});

test("the bars of a lane are one path, cut at the edges of what is looked at, and one where they overlap", () => {
  const at = (start: number, duration: number) => ({ ...flow.calls[0], start, duration }) as (typeof flow.calls)[number];
  expect(barsPath([at(0, 100), at(500, 1), at(2_000, 10)], { from: 0, to: 1_000 })).toBe("M0.0 0H100.0V10H0.0zM500.0 0H502.0V10H500.0z");
  expect(barsPath([at(0, 600)], { from: 500, to: 1_000 })).toBe("M0.0 0H200.0V10H0.0z");
  expect(barsPath([at(0, 300), at(100, 50), at(200, 200), at(401, 1), at(402, 1)], { from: 0, to: 1_000 })).toBe("M0.0 0H400.0V10H0.0zM401.0 0H404.0V10H401.0z");
});
