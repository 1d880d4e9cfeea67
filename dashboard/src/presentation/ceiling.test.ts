import { expect, test } from "vitest";
import { formatCeiling } from "./ceiling";

test("a ceiling is told by what it limits", () => {
  expect(formatCeiling({ usd: 0.2, tokens: null, seconds: 300, model_calls: null, tool_calls: null })).toBe("$0.20, 5 min");
  expect(formatCeiling({ usd: null, tokens: 50_000, seconds: 90, model_calls: 10, tool_calls: 20 })).toBe("50k tokens, 90 s, 10 model calls, 20 tool calls");
});
