import { expect, test } from "vitest";
import type { SessionDetail, TraceList } from "@/wire/types";
import { figuresOf, idIn } from "./figures";

const session = (more: object) =>
  ({ status: "completed", verdict: null, citations: null, stages: [{ executions: [{ model_name: "m1" }, { model_name: "m1" }] }], recorded: false, usage: { total_tokens: 1_500 }, cost: { usd: 0.25, unpriced_calls: 0 }, duration_ms: 2_000, ...more }) as unknown as SessionDetail;
const verdict = { outcome: "fault", confidence: "high", mechanism: "The disk is full.", object: { kind: "Pod", namespace: "shop", name: "web" } };
const trace = { llm: [{ kind: "iteration" }, { kind: "summarization" }], mcp: [{ kind: "tool_list" }, { kind: "tool_call" }] } as TraceList;

test("two sessions are compared by verdict, evidence, turns and cost", () => {
  const citations = { cited: 2, verified: 2, id_only: 0, failed: 0, uncited: 0 };
  const figures = new Map(figuresOf([session({ verdict, citations }), session({ recorded: true })], [trace, undefined]).map(({ name, values }) => [name, values]));
  expect(figures.get("Verdict")).toEqual(["Fault found", "none"]);
  expect(figures.get("At fault")).toEqual(["Pod shop/web", "not named"]);
  expect(figures.get("Evidence")).toEqual(["2 of 2 citations verified.", "not checked"]);
  expect(figures.get("Models")).toEqual(["m1", "m1 (recorded)"]);
  expect(figures.get("Turns")).toEqual(["1", "…"]);
  expect(figures.get("Tool calls")).toEqual(["1", "…"]);
  expect(figures.get("Cost")).toEqual(["$0.2500", "$0.2500"]);
});

test("a session is found in an address or by its id", () => {
  const id = "4f0c6d0e-2f4b-4a57-9d1d-6a4f6f1d7e21";
  expect(idIn(`https://tarsy.example/sessions/${id.toUpperCase()}?event=1`)).toBe(id);
  expect(idIn(` ${id} `)).toBe(id);
  expect(idIn("4f0c6d0e")).toBeNull();
});
