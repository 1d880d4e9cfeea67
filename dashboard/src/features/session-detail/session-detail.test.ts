import { describe, expect, test } from "vitest";
import type { ExecutionView, PlannedStage, StageType, StageView } from "@/wire/types";
import { reportOf } from "./analysis";
import { changesSession } from "./live-session";
import { stageGraph } from "./stage-graph";

const planned = (name: string, agents: string[], synthesis = false): PlannedStage => ({ name, agents, synthesis });
const stage = (stage_name: string, stage_type: StageType, agents = ["A"]): StageView =>
  ({
    id: stage_name,
    stage_name,
    stage_type,
    status: "completed",
    executions: agents.map((agent_name, index) => ({ id: `${stage_name}-${index}`, agent_name, status: "completed" }) as ExecutionView),
  }) as StageView;
const drawn = (planned_stages: PlannedStage[], stages: StageView[], summary_planned = false) =>
  stageGraph({ planned_stages, stages, summary_planned }).map((node) => `${node.stage ? "" : "?"}${node.name}${node.branches.length > 0 ? `(${node.branches.map(({ name }) => name).join("|")})` : ""}`);

describe("the graph of stages", () => {
  const chain = [planned("look", ["A", "B"], true), planned("decide", ["C"])];

  test("shows the whole plan before anything has begun", () => {
    expect(drawn(chain, [], true)).toEqual(["?look(A|B)", "?look synthesis", "?decide", "?executive summary"]);
  });

  test("shows agents that were sent below the one that sent them", () => {
    const executions = [
      { id: "x", agent_name: "Lead", status: "active", parent_execution_id: null },
      { id: "y", agent_name: "LogAgent", status: "completed", parent_execution_id: "x" },
    ];
    const [node] = stageGraph({ planned_stages: [], summary_planned: false, stages: [{ id: "s", stage_name: "look", stage_type: "investigation", executions } as unknown as StageView] });
    expect(node?.branches.map(({ name, isSubAgent }) => [name, isSubAgent])).toEqual([
      ["Lead", false],
      ["LogAgent", true],
    ]);
  });

  test("shows what has begun, then what is still planned", () => {
    expect(drawn(chain, [stage("look", "investigation", ["A", "B"])])).toEqual(["look(A|B)", "?look synthesis", "?decide"]);
    expect(drawn(chain, [stage("look", "investigation", ["A", "B"]), stage("synthesis", "synthesis")])).toEqual(["look(A|B)", "synthesis", "?decide"]);
  });

  test("shows a challenge of the verdict, and the answer given once more, where there were any", () => {
    const refuted = [stage("look", "investigation"), stage("challenge", "challenge"), stage("revision", "synthesis")];
    expect(drawn([planned("look", ["A"])], refuted)).toEqual(["look", "challenge", "revision"]);
  });

  test("leaves out chat and scoring, and keeps the executive summary", () => {
    const all = [stage("look", "investigation"), stage("summary", "exec_summary"), stage("chat", "chat"), stage("score", "scoring")];
    expect(drawn([planned("look", ["A"])], all, true)).toEqual(["look", "summary"]);
  });
});

test("a session is not asked for again for every word", () => {
  expect(changesSession({ channel: "session:s", session_id: "s", type: "stream.chunk", event_id: "e", offset: 0, delta: "x" })).toBe(false);
  expect(changesSession({ type: "subscription.confirmed", channel: "session:s", last_event_id: 1 })).toBe(true);
});

const FREE = { usd: null, unpriced_calls: 0, estimated_calls: 0 };

test("the report ends with what the investigation cost", () => {
  const session = { executive_summary: null, final_analysis: "Long.", analysis_is_partial: false, analysis_partial_reason: null, recorded: false };
  expect(reportOf({ ...session, cost: { usd: 0.0123, unpriced_calls: 1, estimated_calls: 2 } })).toBe("# Analysis\n\nLong.\n\n---\n\nCost of the investigation: ≈ $0.0123 and 1 call of unknown price.\n");
});

test("the report has the summary first and says when it is partial", () => {
  expect(reportOf({ executive_summary: "Short.", final_analysis: "Long.", analysis_is_partial: true, analysis_partial_reason: null, recorded: false, cost: FREE })).toBe(
    "# Summary\n\nShort.\n\n> This analysis is partial. The session ended before all stages were done.\n\n# Analysis\n\nLong.\n",
  );
});

test("the report says why an analysis is partial", () => {
  const session = { executive_summary: null, final_analysis: "Long.", analysis_is_partial: true, analysis_partial_reason: "No tool was asked.", recorded: false, cost: FREE };
  expect(reportOf(session)).toBe("> This analysis is partial. No tool was asked.\n\n# Analysis\n\nLong.\n");
});

test("the report of a recorded model begins with that", () => {
  expect(reportOf({ executive_summary: null, final_analysis: "Long.", analysis_is_partial: false, analysis_partial_reason: null, recorded: true, cost: FREE })).toMatch(/^> \*\*Recorded model\.\*\* No model was called\./);
});
