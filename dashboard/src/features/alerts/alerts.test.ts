import { describe, expect, test } from "vitest";
import type { McpSelection } from "@/wire/types";
import { checkText } from "./alert-editor";
import { EMPTY_DRAFT, isToolSelected, problemsOf, requestOf, selectionProblem, toggleServer, toggleTool, withTools } from "./draft";

describe("what is typed", () => {
  test.each([
    ['{"a": 1}', "json", null],
    ['{"a": 1,\n "b": [}', "json", /^line 2: /],
    ["kind: Pod\nname: cart", "yaml", null],
    ["kind: Pod\n  name: [cart\nx: y", "yaml", /^line \d+: /],
    ["Disk almost full on worker-b1", "text", null],
    // Too long to be looked through with every key.
    [`kind: Pod\n  name: [cart\n${"x: y\n".repeat(15_000)}`, "yaml", null],
    [`[${"1,".repeat(40_000)}`, "json", /not quite valid/],
  ])("%.40j is %s", async (text, format, problem) => {
    const check = await checkText(text);
    expect(check.format).toBe(format);
    if (problem === null) expect(check.problem).toBeNull();
    else expect(check.problem).toMatch(problem);
  });
});

describe("a draft", () => {
  test("needs a text, and a runbook that is an address", () => {
    expect(Object.keys(problemsOf({ ...EMPTY_DRAFT, text: " ", runbook: "my notes" }))).toEqual(["text", "runbook"]);
    expect(problemsOf({ ...EMPTY_DRAFT, text: "x", runbook: "https://wiki.example/a" })).toEqual({});
  });

  test("leaves to the server what was not filled in", () => {
    const unsaid = { data: "x", alert_type: null, runbook: null, mcp: null, budget: null, slack_message_fingerprint: null };
    expect(requestOf({ ...EMPTY_DRAFT, text: "x" })).toEqual(unsaid);
    expect(requestOf({ ...EMPTY_DRAFT, text: "x", alertType: " " })).toEqual(unsaid);
  });
});

describe("choosing tools", () => {
  const all = ["get", "list", "log"];
  const whole: McpSelection = { servers: [{ name: "k8s", tools: null }], native_tools: null };

  test("a server stands for all of its tools until one is taken away", () => {
    expect(isToolSelected(whole, "k8s", "log")).toBe(true);
    const fewer = toggleTool(whole, "k8s", "log", all);
    expect(fewer.servers).toEqual([{ name: "k8s", tools: ["get", "list"] }]);
    expect(toggleTool(fewer, "k8s", "log", all).servers).toEqual([{ name: "k8s", tools: null }]);
  });

  test("servers come and go", () => {
    expect(toggleServer(toggleServer(whole, "aws"), "k8s").servers).toEqual([{ name: "aws", tools: null }]);
  });

  test("all, none and back to a few", () => {
    const none = withTools(whole, "k8s", []);
    expect(toggleTool(none, "k8s", "log", all).servers).toEqual([{ name: "k8s", tools: ["log"] }]);
    expect(withTools(none, "k8s", null)).toEqual(whole);
  });

  test("what the server would refuse is reported before it is sent", () => {
    expect(selectionProblem(null)).toBeNull();
    expect(selectionProblem(whole)).toBeNull();
    expect(selectionProblem({ servers: [], native_tools: null })).toMatch("at least one tool server");
    expect(selectionProblem(withTools(whole, "k8s", []))).toMatch("at least one tool of k8s");
  });
});
