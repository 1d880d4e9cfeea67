import { expect, test } from "vitest";
import { parseDispatch } from "./call-detail";

const sent = (args: unknown) => parseDispatch({ server: "tarsy", tool: "run_agent", arguments: JSON.stringify(args) });

test("a call that sent an agent shows whom, what for, and with what to read", () => {
  expect(sent({ name: "LogAgent", task: "What do its pods log?", context_ids: ["A1", "A2"] })).toEqual({ agent: "LogAgent", task: "What do its pods log?", contextIds: ["A1", "A2"] });
  expect(sent({ name: "LogAgent", task: "Look." })?.contextIds).toEqual([]);
});

test("any other call, and one that was made wrongly, is shown as it is", () => {
  expect(parseDispatch({ server: "cluster", tool: "run_agent", arguments: '{"name": "x", "task": "y"}' })).toBeNull();
  expect(parseDispatch({ server: "tarsy", tool: "load_skill", arguments: '{"name": "x", "task": "y"}' })).toBeNull();
  expect([sent({ name: "LogAgent" }), sent(null), sent("LogAgent"), parseDispatch({ server: "tarsy", tool: "run_agent", arguments: "{" })]).toEqual([null, null, null, null]);
});
