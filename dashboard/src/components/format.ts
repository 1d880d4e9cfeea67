/** Formats numbers, sizes, costs and times. */

export function formatDuration(ms: number): string {
  // The limits are where rounding reaches the next unit.
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}

const STEPS: readonly (readonly [limit: number, seconds: number, unit: string])[] = [
  [60, 1, "s"],
  [3_600, 60, "m"],
  [86_400, 3_600, "h"],
  [30 * 86_400, 86_400, "d"],
];

// Swedish dates are those of ISO 8601.
const DATE = new Intl.DateTimeFormat("sv");

/** "12 s ago", "in 3 m"; the local date if it is more than a month away. */
export function formatRelative(at: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - at.getTime()) / 1_000);
  const distance = Math.abs(seconds);
  if (distance < 5) return "just now";
  const step = STEPS.find(([limit]) => distance < limit);
  if (!step) return DATE.format(at);
  const amount = `${Math.floor(distance / step[1])} ${step[2]}`;
  return seconds < 0 ? `in ${amount}` : `${amount} ago`;
}

// Creating a formatter is slow: these are shared by all rows of a timeline.
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

export function formatExact(at: Date): string {
  return `${EXACT.format(at)} (${at.toISOString().replace("T", " ").slice(0, 19)} UTC)`;
}

export function formatClock(at: Date): string {
  return CLOCK.format(at);
}

export function formatCount(value: number): string {
  if (value < 1_000) return String(value);
  if (value < 9_950) return `${(value / 1_000).toFixed(1)}k`;
  if (value < 999_500) return `${Math.round(value / 1_000)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

/** Two digits, or four for small amounts. */
export function formatDollars(usd: number): string {
  return `$${usd.toFixed(usd >= 1 || usd === 0 ? 2 : 4)}`;
}

/** The cost of several calls, and how many of them have no known price; null if there is neither. "≈" where tokens are estimated. */
export function formatCost(cost: { usd: number | null; unpriced_calls: number; estimated_calls?: number }): string | null {
  const missing = cost.unpriced_calls > 0 ? `${plural(cost.unpriced_calls, "call")} of unknown price` : null;
  if (cost.usd === null) return missing;
  const amount = `${(cost.estimated_calls ?? 0) > 0 ? "≈ " : ""}${formatDollars(cost.usd)}`;
  return missing === null ? amount : `${amount} and ${missing}`;
}

export function formatBytes(bytes: number): string {
  return bytes < 1_024 ? `${bytes} B` : `${(bytes / 1_024).toFixed(bytes < 10_240 ? 1 : 0)} kB`;
}

/** The size of a text in UTF-8. */
export function formatTextSize(text: string): string {
  return formatBytes(new TextEncoder().encode(text).length);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

interface Ceiling {
  usd: number | null;
  tokens: number | null;
  seconds: number | null;
  model_calls: number | null;
  tool_calls: number | null;
}

export function formatCeiling(ceiling: Ceiling): string {
  return [
    ceiling.usd !== null && `$${ceiling.usd.toFixed(2)}`,
    ceiling.tokens !== null && `${formatCount(ceiling.tokens)} tokens`,
    ceiling.seconds !== null && (ceiling.seconds < 120 ? `${ceiling.seconds} s` : `${Math.round(ceiling.seconds / 60)} min`),
    ceiling.model_calls !== null && plural(ceiling.model_calls, "model call"),
    ceiling.tool_calls !== null && plural(ceiling.tool_calls, "tool call"),
  ]
    .filter(Boolean)
    .join(", ");
}
