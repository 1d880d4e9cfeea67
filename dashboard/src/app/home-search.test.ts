// @vitest-environment jsdom
import { expect, test } from "vitest";
import { isAboutSessions, readHomeSearch } from "./home-search";

test("an address of the sessions' time still leads to sessions", () => {
  expect(isAboutSessions(readHomeSearch({ status: "failed" }))).toBe(true);
  expect(isAboutSessions(readHomeSearch({ type: "kubernetes", since: "1h" }))).toBe(true);
  expect(isAboutSessions(readHomeSearch({ severity: "high", text: "disk" }))).toBe(false);
});

test("what both pages filter by is read once", () => {
  expect(readHomeSearch({ text: "disk", since: "1h", state: "all" })).toEqual({ text: "disk", since: "1h", state: "all" });
});
