import { expect, test } from "vitest";
import { prettyJson, readable, tokensOf } from "./structured-text";

const kinds = (line: string, format: "json" | "yaml") =>
  tokensOf(line, format)
    .filter(({ text }) => text.trim() !== "")
    .map(({ kind, text }) => `${kind} ${text}`);

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

test("brackets without end and a line of ten megabytes are no trouble", () => {
  expect(prettyJson("[".repeat(20_000) + "]".repeat(20_000))?.length).toBeLessThan(4_000_000);
  expect(tokensOf(`"${"a".repeat(10_000_000)}"`, "json")).toHaveLength(1);
});

test("text that only begins like JSON is coloured as quickly", () => {
  const escaped = '{\\"a\\":\\"b\\",'.repeat(20_000);
  const begin = performance.now();
  expect(tokensOf(escaped, "json").map(({ text }) => text).join("")).toBe(escaped);
  expect(performance.now() - begin).toBeLessThan(2_000);
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

test("tokens of a line of JSON", () => {
  expect(kinds('  "name": "a \\"b\\": c", "n": -1.5e3, "ok": true', "json")).toEqual([
    'name "name"',
    "plain :",
    'string "a \\"b\\": c"',
    "plain , ",
    'name "n"',
    "plain :",
    "number -1.5e3",
    "plain , ",
    'name "ok"',
    "plain :",
    "keyword true",
  ]);
});

test.each(['  "a": {"b": [1, null]},', "- name: x  # y", "  key: 'v'", "plain words", "a: 10 ", "# note"])("tokens of %j joined are the line", (line) => {
  for (const format of ["json", "yaml", "text"] as const) {
    expect(tokensOf(line, format).map(({ text }) => text).join("")).toBe(line);
  }
});

test("tokens of a line of YAML", () => {
  expect(kinds("  replicas: 3", "yaml")).toEqual(["name replicas", "plain :", "number 3"]);
  expect(kinds("- image: shop/cart:4", "yaml")).toEqual(["plain - ", "name image", "plain :", "plain  shop/cart:4"]);
});
