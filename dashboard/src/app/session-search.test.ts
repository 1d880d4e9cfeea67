import { expect, test } from "vitest";
import { readSessionPageSearch } from "./session-search";

test("an address points at an event, or at a result with the words quoted from it", () => {
  expect(readSessionPageSearch({ event: "e1" })).toEqual({ event: "e1" });
  expect(readSessionPageSearch({ evidence: "A7", quote: 45 })).toEqual({ evidence: "A7", quote: "45" });
});

test("what is no id of evidence opens nothing", () => {
  expect(readSessionPageSearch({ evidence: "<b>", quote: "x" })).toEqual({});
  expect(readSessionPageSearch({ quote: "x" })).toEqual({});
});
