import { expect, test } from "vitest";
import { plainText } from "./plain-text";

test.each([
  ["**Root cause:** the `cart` leaks.", "Root cause: the cart leaks."],
  ["## Summary\n\n- one\n- *two*\n\n1. three", "Summary one two three"],
  ["See [the runbook](https://example.org/x) and ![a picture](x.png).", "See the runbook and a picture."],
  ["```sh\nkubectl get pods\n```", "kubectl get pods"],
  ["| Pod | Restarts |\r\n|:---|---:|\r\n| cart | 3 |", "| Pod | Restarts | | cart | 3 |"],
  ["***both***, __bold__ and ~~gone~~", "both, bold and gone"],
  ["snake_case_name, 2 * 3 * 4, `a*b`", "snake_case_name, 2 * 3 * 4, a*b"],
])("%j is shown as %j", (markdown, text) => {
  expect(plainText(markdown)).toBe(text);
});

// With patterns that search the rest of the text from every position, most of these take longer than the limit of a test; blank lines, hours.
test.each([
  ["\n", "x"],
  ["\r", "x"],
  [" ", "x"],
  ["[", `${"[".repeat(100_000)}x`],
  ["[a](", `${"[a](".repeat(100_000)}x`],
  ["**a ", `${"**a ".repeat(100_000)}x`],
  ["- ", `${"- ".repeat(99_999)}x`],
  ["| ", `${"| ".repeat(100_000)}x`],
  ["**a** ", `${"a ".repeat(100_000)}x`],
])("a text of 100,000 times %j is read in one pass", (part, text) => {
  expect(plainText(`${part.repeat(100_000)}x`) === text).toBe(true);
}, 5_000);
