import { expect, test } from "vitest";
import { plainText } from "./plain-text";

test.each([
  ["**Root cause:** the `cart` leaks.", "Root cause: the cart leaks."],
  ["## Summary\n\n- one\n- *two*\n\n1. three", "Summary one two three"],
  ["See [the runbook](https://example.org/x) and ![a picture](x.png).", "See the runbook and a picture."],
  ["```sh\nkubectl get pods\n```", "kubectl get pods"],
  ["snake_case_name, 2 * 3 * 4, `a*b`", "snake_case_name, 2 * 3 * 4, a*b"],
])("%j is shown as %j", (markdown, text) => {
  expect(plainText(markdown)).toBe(text);
});
