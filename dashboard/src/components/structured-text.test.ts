import { expect, test } from "vitest";
import { rangesByLine, rangeInFormatted, prettyJson, readable } from "./structured-text";

test("JSON is laid out", () => {
  expect(readable('{"a":[1]}')).toEqual({ format: "json", text: '{\n  "a": [\n    1\n  ]\n}' });
});

test("laying out changes white space only", () => {
  const text = ' {"at":1700000000123456789, "ratio":1.0,"s":"a, {b: \\"c\\"}","none":{},"empty":[ ],"at":[{"x":null},[-1e400]]}';
  const pretty = prettyJson(text) ?? "";
  expect(pretty.split("\n")).toEqual([
    "{",
    '  "at": 1700000000123456789,',
    '  "ratio": 1.0,',
    '  "s": "a, {b: \\"c\\"}",',
    '  "none": {},',
    '  "empty": [],',
    '  "at": [',
    "    {",
    '      "x": null',
    "    },",
    "    [",
    "      -1e400",
    "    ]",
    "  ]",
    "}",
  ]);
});

test("brackets without end are no trouble", () => {
  expect(prettyJson("[".repeat(20_000) + "]".repeat(20_000))?.length).toBeLessThan(4_000_000);
});

test.each(["42", '"text"', "{not json", ""])("%j is not worth calling JSON", (text) => {
  expect(prettyJson(text)).toBeNull();
});

test("YAML is recognised and left as it is", () => {
  const text = "kind: Pod\nmetadata:\n  name: cart\n  labels:\n  - a";
  expect(readable(text)).toEqual({ format: "yaml", text });
});

test("a table is text", () => {
  expect(readable("NAME   READY\ncart   1/1\napi    0/1").format).toBe("text");
});

test("a place in JSON is found again when it is laid out for reading", () => {
  const json = '{"a": {"name":"cart 1","ready":false},"b":2}';
  const shown = readable(json).text;
  const start = json.indexOf('"name"');
  const place = rangeInFormatted(json, shown, { start, end: json.indexOf("}") });
  expect(shown.slice(place.start, place.end)).toBe('"name": "cart 1",\n    "ready": false');
});

test("a text that is not laid out anew keeps its places", () => {
  expect(rangeInFormatted("a b", "a b", { start: 1, end: 2 })).toEqual({ start: 1, end: 2 });
});

test("a place over several lines is a part of each", () => {
  expect([...rangesByLine(["one", "two", "", "four"], { start: 2, end: 11 })]).toEqual([
    [0, { start: 2, end: 3 }],
    [1, { start: 0, end: 3 }],
    [3, { start: 0, end: 2 }],
  ]);
});
