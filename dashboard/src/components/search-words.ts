/** Pure module: filters as they stand in an address. */

export const PERIODS = {
  "1h": { label: "Last hour", ms: 3_600_000 },
  "24h": { label: "Last 24 hours", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 7 * 86_400_000 },
  "30d": { label: "Last 30 days", ms: 30 * 86_400_000 },
} as const;
export type Period = keyof typeof PERIODS;

// A period slides in so many steps: with every second it would be another question to the server every second.
const STEPS = 12;

export function beginOf(period: Period, now: number): string {
  const { ms } = PERIODS[period];
  const step = ms / STEPS;
  return new Date(Math.floor(now / step) * step - ms).toISOString();
}

export function periodOf(value: unknown): Period | undefined {
  const name = word(value);
  return name !== undefined && Object.hasOwn(PERIODS, name) ? (name as Period) : undefined;
}

/** A moment as the API takes it; undefined for what is none. */
export function momentOf(value: unknown): string | undefined {
  const text = word(value);
  const at = text !== undefined && /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? new Date(text) : undefined;
  return at && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined;
}

export function word(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const text = String(value).trim();
  return text === "" ? undefined : text;
}

export function given<Key extends string, Value>(key: Key, value: Value | undefined): Partial<Record<Key, Value>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, Value>);
}

export function isFiltered(search: object): boolean {
  return Object.values(search).some((value) => value !== undefined && value !== "");
}
