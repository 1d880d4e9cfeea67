import { expect, test } from "vitest";
import type { LLMCallItem, MCPCallItem } from "@/wire/types";
import { covered, waterfall } from "./waterfall";

const llm = (id: string, started_at: string, duration_ms: number) =>
  ({ id, kind: "iteration", turn: 0, started_at, duration_ms, first_chunk_ms: 10, error_message: null, execution_id: "x", usage: { total_tokens: 7, input_tokens: 0 } }) as LLMCallItem;
const mcp = (id: string, started_at: string, duration_ms: number, is_error = false) =>
  ({ id, kind: "tool_call", server: "k8s", tool: "get", started_at, duration_ms, is_error, execution_id: "x" }) as MCPCallItem;

test("calls stand on one axis in the order in which they began", () => {
  const flow = waterfall(
    { llm: [llm("1", "2026-01-01T00:00:10Z", 1_000)], mcp: [mcp("2", "2026-01-01T00:00:09Z", 500), mcp("3", "2026-01-01T00:00:11.500Z", 300, true)] },
    undefined,
  );
  expect(flow.calls.map(({ key, start }) => [key, start])).toEqual([
    ["mcp:2", 0],
    ["llm:1", 1_000],
    ["mcp:3", 2_500],
  ]);
  expect(flow).toMatchObject({ span: 2_800, inModels: 1_000, inTools: 800, failed: 1 });
  expect(flow.calls.map(({ label }) => label)).toEqual(["k8s.get", "Turn 1", "k8s.get"]);
});

test("time in which several calls were under way counts once", () => {
  expect(covered([{ start: 0, duration: 100 }, { start: 50, duration: 20 }, { start: 90, duration: 30 }, { start: 200, duration: 5 }])).toBe(125);
});

test("a session without calls has an axis all the same", () => {
  expect(waterfall({ llm: [], mcp: [] }, undefined)).toMatchObject({ calls: [], span: 1 });
});
