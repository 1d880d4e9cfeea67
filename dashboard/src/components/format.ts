/** Pure module: numbers and times as people read them. */

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
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

/** "12 s ago", "in 3 m"; beyond a month the date says more. */
export function formatRelative(at: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - at.getTime()) / 1_000);
  const distance = Math.abs(seconds);
  if (distance < 5) return "just now";
  const step = STEPS.find(([limit]) => distance < limit);
  if (!step) return at.toISOString().slice(0, 10);
  const amount = `${Math.floor(distance / step[1])} ${step[2]}`;
  return seconds < 0 ? `in ${amount}` : `${amount} ago`;
}

// Made once: making one takes longer than all else that a row of a timeline works out.
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
  if (value < 10_000) return `${(value / 1_000).toFixed(1)}k`;
  if (value < 1_000_000) return `${Math.round(value / 1_000)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

/** Cents where they say enough, more digits where the amount is small. */
export function formatDollars(usd: number): string {
  return `$${usd.toFixed(usd >= 1 || usd === 0 ? 2 : 4)}`;
}

/** What several calls cost, and how many of them have no known price; null when there is nothing to say. */
export function formatCost(cost: { usd: number | null; unpriced_calls: number }): string | null {
  const missing = cost.unpriced_calls > 0 ? `${cost.unpriced_calls} ${cost.unpriced_calls === 1 ? "call" : "calls"} of unknown price` : null;
  if (cost.usd === null) return missing;
  return missing === null ? formatDollars(cost.usd) : `${formatDollars(cost.usd)} and ${missing}`;
}

export function formatBytes(characters: number): string {
  return characters < 1_024 ? `${characters} B` : `${(characters / 1_024).toFixed(characters < 10_240 ? 1 : 0)} kB`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
