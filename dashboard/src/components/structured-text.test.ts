import { expect, test } from "vitest";
import { prettyJson, readable } from "./structured-text";

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
