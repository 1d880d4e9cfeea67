import { expect, test } from "vitest";
import { challengeResult } from "./verdict-card";

const stage = (id: string, stage_type: string, stage_index: number) => ({ id, stage_type, stage_index });
const result = (stages: object[], text: string) =>
  challengeResult({ stages } as unknown as Parameters<typeof challengeResult>[0], [{ stage_id: "c", event_type: "final_analysis", content: text }])?.label ?? null;
const CHALLENGED = [stage("i", "investigation", 0), stage("c", "challenge", 1)];

test("a verdict says what a second look made of it", () => {
  expect(result([stage("i", "investigation", 0)], "")).toBeNull();
  expect(result(CHALLENGED, "I looked.\n**Result:** upheld")).toBe("Upheld by a challenge");
  expect(result(CHALLENGED, "result: upheld\nresult: weakened\nobjection: no log")).toBe("Weakened by a challenge");
  expect(result(CHALLENGED, "I ran out of time.")).toBe("The challenge was inconclusive");
});

test("a refutation counts as one where the answer was given anew", () => {
  expect(result(CHALLENGED, "result: refuted")).toBe("Weakened by a challenge");
  expect(result([...CHALLENGED, stage("r", "synthesis", 2)], "result: refuted")).toBe("Refuted by a challenge, then answered again");
});

// Line by line; a pattern that begins to search the rest of the blank lines at each of them takes longer than the limit of the test.
test("a challenge with 100,000 blank lines is read in one pass", () => {
  expect(result(CHALLENGED, `${"\n".repeat(100_000)}no ${"> ".repeat(100_000)}\nresult: upheld`)).toBe("Upheld by a challenge");
}, 5_000);
