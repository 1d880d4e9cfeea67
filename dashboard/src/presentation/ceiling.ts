/** Pure module: what a session may use, in a few words. */
import { formatCount } from "@/components/format";
import type { CeilingView } from "@/wire/types";

export function formatCeiling(ceiling: CeilingView): string {
  return [
    ceiling.usd !== null && `$${ceiling.usd.toFixed(2)}`,
    ceiling.tokens !== null && `${formatCount(ceiling.tokens)} tokens`,
    ceiling.seconds !== null && (ceiling.seconds < 120 ? `${ceiling.seconds} s` : `${Math.round(ceiling.seconds / 60)} min`),
    ceiling.model_calls !== null && `${ceiling.model_calls} model calls`,
    ceiling.tool_calls !== null && `${ceiling.tool_calls} tool calls`,
  ]
    .filter(Boolean)
    .join(", ");
}
