import { expect, test } from "vitest";
import { markedParts, placeInLaidOut } from "./laid-out-place";
import { readable } from "./structured-text";

test("a place in JSON is found again when it is laid out for reading", () => {
  const json = '{"a": {"name":"cart 1","ready":false},"b":2}';
  const shown = readable(json).text;
  const start = json.indexOf('"name"');
  const place = placeInLaidOut(json, shown, { start, end: json.indexOf("}") });
  expect(shown.slice(place.start, place.end)).toBe('"name": "cart 1",\n    "ready": false');
});

test("a text that is not laid out anew keeps its places", () => {
  expect(placeInLaidOut("a b", "a b", { start: 1, end: 2 })).toEqual({ start: 1, end: 2 });
});

test("a place over several lines is a part of each", () => {
  expect([...markedParts(["one", "two", "", "four"], { start: 2, end: 11 })]).toEqual([
    [0, { start: 2, end: 3 }],
    [1, { start: 0, end: 3 }],
    [3, { start: 0, end: 2 }],
  ]);
});
