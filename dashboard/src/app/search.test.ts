import { expect, test } from "vitest";
import { isSessionSearch, readHomeSearch, readSessionPageSearch } from "./search";

test("an address of the sessions' time still leads to sessions", () => {
  expect(isSessionSearch(readHomeSearch({ status: "failed" }))).toBe(true);
  expect(isSessionSearch(readHomeSearch({ type: "kubernetes", since: "1h" }))).toBe(true);
  expect(isSessionSearch(readHomeSearch({ severity: "high", text: "disk" }))).toBe(false);
});

test("what both pages filter by is read once", () => {
  expect(readHomeSearch({ text: "disk", since: "1h", state: "all" })).toEqual({ text: "disk", since: "1h", state: "all" });
});

test("an address points at an event, or at a result with the words quoted from it", () => {
  expect(readSessionPageSearch({ event: "e1" })).toEqual({ event: "e1" });
  expect(readSessionPageSearch({ evidence: "A7", quote: 45 })).toEqual({ evidence: "A7", quote: "45" });
});

test("what is no id of evidence opens nothing", () => {
  expect(readSessionPageSearch({ evidence: "<b>", quote: "x" })).toEqual({});
  expect(readSessionPageSearch({ quote: "x" })).toEqual({});
});
