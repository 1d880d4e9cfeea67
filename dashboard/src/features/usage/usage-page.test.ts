import { expect, test } from "vitest";
import type { UsedItem } from "@/wire/types";
import { budgetRow, cachedShare, toolRow, unpricedWarning, usedRow } from "./usage-page";

const USED: UsedItem = { name: "vendor / model", calls: 12, failed_calls: 0, input_tokens: 9_000, cached_tokens: 4_500, output_tokens: 1_000, thinking_tokens: 0, cost_usd: 1.5, unpriced_calls: 0, duration_ms: 5, cache_hit_share: 0.5 };

test("a row shows cost, tokens and calls, and that a price is missing", () => {
  expect(usedRow(USED)).toEqual(["vendor / model", "$1.50", "10k", "12"]);
  expect(usedRow({ ...USED, unpriced_calls: 3 })[1]).toBe("$1.50 + ?");
});

test("a tool is shown by its full name", () => {
  expect(toolRow({ server: "k8s", tool: "pods", calls: 3, failed_calls: 1, duration_ms: 9 })).toEqual(["k8s.pods", "3", "1"]);
});

test("a budget shows what it is for and how far it is used", () => {
  const budget = { per: "day", usd: 5, chain: null, alert_type: null, spent_usd: 1.25, reserved_usd: 0.5, forecast_usd: 7, ends_at: "2026-01-02T00:00:00Z", unpriced_models: [] as string[] } as const;
  expect(budgetRow(budget)).toEqual(["per day", "$5.00", "$1.25", "$0.5000", "$7.00"]);
  expect(budgetRow({ ...budget, chain: "shop", alert_type: "disk" })[0]).toBe("per day: chain shop, alert type disk");
  expect(unpricedWarning([budget])).toBeNull();
  expect(unpricedWarning([{ ...budget, unpriced_models: ["m-1 (own)"] }, { ...budget, unpriced_models: ["m-1 (own)"] }])).toBe(
    "Budgets do not count calls of m-1 (own), whose price is not known. Give it under system.cost_estimation.model_rates.",
  );
});

test("the share of cached input is shown only where there was input", () => {
  expect(cachedShare(USED)).toBe("50 %");
  expect(cachedShare({ ...USED, cache_hit_share: null })).toBeNull();
});
