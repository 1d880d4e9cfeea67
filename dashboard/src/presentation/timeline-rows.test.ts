import { expect, test } from "vitest";
import type { ExecutionView, StageView, TimelineEvent, TimelineEventType } from "@/wire/types";
import { withCurrentEvents, entryRows, rowEvents, indexOfAgent, agentRows, timelineRows } from "./timeline-rows";

let count = 0;
function event(event_type: TimelineEventType, more: Partial<TimelineEvent> = {}): TimelineEvent {
  count += 1;
  return {
    id: `e${count}`,
    stage_id: "s1",
    execution_id: "x1",
    sequence_number: count,
    event_type,
    status: "completed",
    content: "",
    metadata: {},
    evidence_id: null,
    created_at: "",
    completed_at: null,
    ...more,
  };
}
const call = (id: string, more: Partial<TimelineEvent> = {}) => event("llm_tool_call", { metadata: { call_id: id }, ...more });
const result = (id: string, more: Partial<TimelineEvent> = {}) => event("tool_result", { metadata: { call_id: id }, ...more });

function stage(id: string, executions: string[]): StageView {
  return { id, stage_name: id, executions: executions.map((execution) => ({ id: execution }) as ExecutionView) } as StageView;
}
const shape = (stages: StageView[], events: TimelineEvent[], selected = new Map<string, string>(), columns = new Set<string>()) =>
  timelineRows(stages, events, selected, columns).map((row) => (row.kind === "event" || row.kind === "tool" ? row.key : `${row.kind} ${row.stage.id}`));

test("a call, its result and its summary are one row where the call is", () => {
  const [thought, first, second] = [event("llm_thinking"), call("1"), call("2")];
  const rows = entryRows([thought, first, second, result("2"), event("mcp_tool_summary", { metadata: { call_id: "1" } }), result("1")]);
  expect(rows.map((row) => row.key)).toEqual([thought.id, first.id, second.id]);
  expect(rows.map((row) => rowEvents(row).length)).toEqual([1, 3, 2]);
});

test("the same call id in two agents is two calls", () => {
  expect(entryRows([call("1"), call("1", { execution_id: "x2" }), result("1", { execution_id: "x2" })])).toHaveLength(2);
});

test("a call id that is used again begins a new row", () => {
  expect(entryRows([call("1"), result("1"), call("1"), result("1")])).toHaveLength(2);
});

test("a result without a call has its own row", () => {
  expect(entryRows([result("9")])).toMatchObject([{ kind: "tool", call: null }]);
});

test("each stage has a header; events follow the order of the stages", () => {
  const [late, early] = [event("llm_response", { stage_id: "s2" }), event("llm_response")];
  expect(shape([stage("s1", ["x1"]), stage("s2", ["x2"])], [late, early])).toEqual(["stage s1", early.id, "stage s2", late.id]);
});

test("of parallel agents the selected one is shown, the first if none was chosen", () => {
  const [one, two] = [event("llm_response"), event("llm_response", { execution_id: "x2" })];
  const stages = [stage("s1", ["x1", "x2"])];
  expect(shape(stages, [one, two])).toEqual(["stage s1", "agents s1", one.id]);
  expect(shape(stages, [one, two], new Map([["s1", "x2"]]))).toEqual(["stage s1", "agents s1", two.id]);
});

test("side by side, the agents' events are in their columns and not in the list", () => {
  expect(shape([stage("s1", ["x1", "x2"])], [event("llm_response")], new Map(), new Set(["s1"]))).toEqual(["stage s1", "agents s1"]);
});

test("events of a stage that is not known yet are shown all the same", () => {
  const early = event("llm_thinking", { stage_id: "new" });
  expect(shape([], [early])).toEqual([early.id]);
});

test("a row shows its events as they are now", () => {
  const call = event("llm_tool_call", { metadata: { call_id: "1" } });
  const result = event("tool_result", { metadata: { call_id: "1" }, status: "streaming" });
  const done = { ...result, content: "found", status: "completed" as const };
  const [row] = entryRows([call, result]);
  expect(row && withCurrentEvents(row, (known) => (known.id === done.id ? done : known))).toMatchObject({ call, result: done, summary: null });
});

const lead = { id: "x1", parent_execution_id: null } as ExecutionView;
const sent = { id: "x2", agent_name: "LogAgent", parent_execution_id: "x1", dispatched_by: "A1", task: "Look." } as ExecutionView;
const tree = { id: "s1", stage_name: "s1", executions: [lead, sent] } as StageView;
const sending = () => call("1", { metadata: { call_id: "1", tool_name: "run_agent", server_name: "tarsy", evidence_id: "A1" } });

test("a call that sent an agent stands with its task and report, and the agent's own rows only while they are open", () => {
  const [first, own, report] = [sending(), event("llm_response", { execution_id: "x2" }), event("final_analysis", { execution_id: "x2", content: "Full." })];
  const closed = timelineRows([tree], [first, own, report], new Map());
  expect(closed).toMatchObject([{ kind: "stage" }, { kind: "sub-agent", execution: sent, open: false, report: { content: "Full." } }]);
  const open = timelineRows([tree], [first, own, report], new Map(), new Set(), new Set(["x2"]));
  expect(open.map((row) => row.kind)).toEqual(["stage", "sub-agent", "event", "event", "back-to-call"]);
  expect(open[2]).toMatchObject({ event: own, subAgent: sent });
});

test("an agent that was sent has no tab of its own, and its call is an ordinary one until it is known", () => {
  expect(timelineRows([tree], [sending()], new Map()).some((row) => row.kind === "agents")).toBe(false);
  const unknown = { ...tree, executions: [lead] };
  expect(timelineRows([unknown], [sending()], new Map()).map((row) => row.kind)).toEqual(["stage", "tool"]);
});

test("an agent beside others has its own rows and those of the agents that it sent", () => {
  const other = { id: "x3", parent_execution_id: null } as ExecutionView;
  const parallel = { ...tree, executions: [lead, sent, other] };
  const [first, own, ofOther] = [sending(), event("llm_response", { execution_id: "x2" }), event("llm_response", { execution_id: "x3" })];
  expect(agentRows(lead, parallel, [first, own, ofOther], new Set(["x2"])).map((row) => row.kind)).toEqual(["sub-agent", "event", "back-to-call"]);
  expect(agentRows(other, parallel, [first, own, ofOther], new Set())).toMatchObject([{ event: ofOther }]);
});

test("an agent is found at the call that sent it, at the tabs that have chosen it, or at its stage", () => {
  const other = { id: "x3", parent_execution_id: null } as ExecutionView;
  const parallel = { ...tree, executions: [lead, sent, other] };
  const rows = (chosen: string) => timelineRows([parallel], [sending()], new Map([["s1", chosen]]));
  expect([indexOfAgent(rows("x1"), parallel, "x2", false), indexOfAgent(rows("x1"), parallel, "x1", false)]).toEqual([2, 1]);
  expect([indexOfAgent(rows("x3"), parallel, "x2", false), indexOfAgent(rows("x3"), parallel, "x1", false)]).toEqual([-1, -1]);
  expect(indexOfAgent(timelineRows([parallel], [], new Map(), new Set(["s1"])), parallel, "x2", true)).toBe(1);
  expect(indexOfAgent(timelineRows([tree], [], new Map()), tree, "x1", false)).toBe(0);
});
