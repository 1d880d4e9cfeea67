/** Pure module: what was used, as cells of a table. */
import { formatCount, formatDollars } from "@/components/format";
import type { PeriodBudgetItem, ToolUseItem, UsedItem } from "@/wire/types";

/** Name, cost, tokens, calls. What has no known price is told with a plus. */
export function usedRow(used: UsedItem): string[] {
  const cost = used.unpriced_calls > 0 ? `${formatDollars(used.cost_usd)} + ?` : formatDollars(used.cost_usd);
  return [used.name ?? "", cost, formatCount(used.input_tokens + used.output_tokens), formatCount(used.calls)];
}

export function toolRow(tool: ToolUseItem): string[] {
  return [`${tool.server}.${tool.tool}`, formatCount(tool.calls), formatCount(tool.failed_calls)];
}

/** For what, the ceiling, what is spent and reserved, and what will be spent at its end. */
export function budgetRow(budget: PeriodBudgetItem): string[] {
  const of = [budget.chain && `chain ${budget.chain}`, budget.alert_type && `alert type ${budget.alert_type}`].filter(Boolean).join(", ");
  const amounts = [budget.usd, budget.spent_usd, budget.reserved_usd, budget.forecast_usd].map(formatDollars);
  return [of ? `per ${budget.per}: ${of}` : `per ${budget.per}`, ...amounts];
}

/** That calls of models without a known price count in no budget, and what helps; null where all are counted. */
export function uncounted(budgets: PeriodBudgetItem[]): string | null {
  const models = [...new Set(budgets.flatMap((budget) => budget.unpriced_models))];
  if (models.length === 0) return null;
  return `Budgets do not count calls of ${models.join(" and ")}, whose price is not known. Give it under system.cost_estimation.model_rates.`;
}

/** How much of the input vendors had kept, in percent; null without input. */
export function shareOfCache(used: UsedItem): string | null {
  return used.cache_hit_share === null ? null : `${Math.round(used.cache_hit_share * 100)} %`;
}
