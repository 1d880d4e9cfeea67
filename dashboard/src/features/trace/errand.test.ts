import { expect, test } from "vitest";
import { errandOf } from "./errand";

const sent = (args: unknown) => errandOf({ server: "tarsy", tool: "run_agent", arguments: JSON.stringify(args) });

test("a call that sent an agent tells whom, what for, and with what to read", () => {
  expect(sent({ name: "LogAgent", task: "What do its pods log?", context_ids: ["A1", "A2"] })).toEqual({ agent: "LogAgent", task: "What do its pods log?", given: ["A1", "A2"] });
  expect(sent({ name: "LogAgent", task: "Look." })?.given).toEqual([]);
});

test("any other call, and one that was made wrongly, is shown as it is", () => {
  expect(errandOf({ server: "cluster", tool: "run_agent", arguments: '{"name": "x", "task": "y"}' })).toBeNull();
  expect(errandOf({ server: "tarsy", tool: "load_skill", arguments: '{"name": "x", "task": "y"}' })).toBeNull();
  expect([sent({ name: "LogAgent" }), sent(null), sent("LogAgent"), errandOf({ server: "tarsy", tool: "run_agent", arguments: "{" })]).toEqual([null, null, null, null]);
});
