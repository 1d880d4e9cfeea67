import { expect, test } from "vitest";
import type { SessionDetail, TraceList } from "@/wire/types";
import { sessionIdIn } from "./choose-other";
import { diffLines, figuresOf } from "./compare-page";

const session = (more: object) =>
  ({ status: "completed", verdict: null, citations: null, stages: [{ executions: [{ model_name: "m1" }, { model_name: "m1" }] }], recorded: false, usage: { total_tokens: 1_500 }, cost: { usd: 0.25, unpriced_calls: 0 }, duration_ms: 2_000, ...more }) as unknown as SessionDetail;
const verdict = { outcome: "fault", confidence: "high", mechanism: "The disk is full.", object: { kind: "Pod", namespace: "shop", name: "web" } };
const trace = { llm: [{ kind: "iteration" }, { kind: "summarization" }, { kind: "support" }], mcp: [{ kind: "tool_list" }, { kind: "tool_call" }] } as TraceList;

test("two sessions are compared by verdict, evidence, turns and cost", () => {
  const citations = { cited: 2, verified: 2, id_only: 0, failed: 0, uncited: 0 };
  const figures = new Map(figuresOf([session({ verdict, citations }), session({ recorded: true })], [trace, undefined]).map(({ name, values }) => [name, values]));
  expect(figures.get("Verdict")).toEqual(["Fault", "No verdict"]);
  expect(figures.get("Object")).toEqual(["Pod shop/web", "not named"]);
  expect(figures.get("Evidence")).toEqual(["2 quotations verified, 0 failed, 0 by id only.", "not checked"]);
  expect(figures.get("Models")).toEqual(["m1", "m1 (recorded)"]);
  expect(figures.get("Turns")).toEqual(["1", "…"]);
  expect(figures.get("Tool calls")).toEqual(["1", "…"]);
  expect(figures.get("Cost")).toEqual(["$0.2500", "$0.2500"]);
});

test("a session is found in an address or by its id", () => {
  const id = "4f0c6d0e-2f4b-4a57-9d1d-6a4f6f1d7e21";
  expect(sessionIdIn(`https://tarsy.example/sessions/${id.toUpperCase()}?event=1`)).toBe(id);
  expect(sessionIdIn(` ${id} `)).toBe(id);
  expect(sessionIdIn("4f0c6d0e")).toBeNull();
});

const diff = (before: string, after: string) => diffLines(before, after).map(({ kind, text }) => `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`);

test("what two texts share stays, what differs is marked", () => {
  expect(diff("a\nb\nc\nd", "a\nx\nc\nd\ne")).toEqual([" a", "-b", "+x", " c", " d", "+e"]);
  expect(diff("same", "same")).toEqual([" same"]);
});

test("the fewest possible lines are shown as moved", () => {
  expect(diff("1\n2\n3", "2\n3\n1")).toEqual(["-1", " 2", " 3", "+1"]);
});

test("both texts can be read back from the difference", () => {
  const [before, after] = ["a\n\nb\nb\nc", "b\n\na\nb"];
  const lines = diffLines(before, after);
  expect(lines.filter(({ kind }) => kind !== "added").map(({ text }) => text).join("\n")).toBe(before);
  expect(lines.filter(({ kind }) => kind !== "removed").map(({ text }) => text).join("\n")).toBe(after);
});

test("texts too long to be compared line by line are shown as replaced", () => {
  const many = (word: string) => Array.from({ length: 3_000 }, (_, index) => `${word} ${index}`).join("\n");
  expect(diffLines(many("a"), many("b")).filter(({ kind }) => kind === "removed")).toHaveLength(3_000);
});
