import { expect, test } from "vitest";
import { tokensOf } from "./rich-text";

const kinds = (line: string, format: "json" | "yaml") =>
  tokensOf(line, format)
    .filter(({ kind }) => kind !== "")
    .map(({ kind, text }) => `${kind} ${text}`);

const FORMATS = ["json", "yaml", "text"] as const;

test("pieces of a line of JSON", () => {
  expect(kinds('  "name": "a \\"b\\": c", "n": -1.5e3, "ok": true', "json").filter((piece) => !piece.startsWith("hljs-punctuation"))).toEqual([
    'hljs-attr "name"',
    'hljs-string "a \\"b\\": c"',
    'hljs-attr "n"',
    "hljs-number -1.5e3",
    'hljs-attr "ok"',
    "hljs-literal true",
  ]);
});

test("pieces of a line of YAML", () => {
  expect(kinds("  replicas: 3", "yaml")).toEqual(["hljs-attr replicas:", "hljs-number 3"]);
  expect(kinds("- image: shop/cart:4  # pinned", "yaml")).toEqual(["hljs-bullet -", "hljs-attr image:", "hljs-string shop/cart:4", "hljs-comment # pinned"]);
});

test.each(['  "a": {"b": [1, null]},', "- name: x  # y", "  key: 'v'", "plain words", "a: 10 ", "# note", '{"never": "closed', "<b>&amp;</b>", "}}]]: : -"])(
  "the pieces of %j joined are the line",
  (line) => {
    for (const format of FORMATS) expect(tokensOf(line, format).map(({ text }) => text).join("")).toBe(line);
  },
);

test.each([
  ["a line of ten megabytes", `"${"a".repeat(10_000_000)}"`],
  ["text that only begins like JSON", '{\\"a\\":\\"b\\",'.repeat(20_000)],
])("%s is left without colours", (_, line) => {
  for (const format of FORMATS) expect(tokensOf(line, format)).toEqual([{ kind: "", text: line }]);
});

// Each would take minutes in a grammar whose time grows faster than with the square; the limit on a line keeps all of them short.
test.each([" ", "a ", "a:", "- ", '"', "\\", "{", "'a", "& ", "!a", "%{", "1-"])("hostile lines of %j do not hold up the page", (part) => {
  const line = part.repeat(1_999 / part.length);
  for (const format of FORMATS) expect(tokensOf(line, format).map(({ text }) => text).join("")).toBe(line);
});
