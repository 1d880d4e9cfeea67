/** Search parameters of a route, as the filters of lists and the state of pages read them. */
import { useMemo } from "react";
import { serverTimeIn } from "./times";

export const PERIODS = {
  "1h": { label: "Last hour", ms: 3_600_000 },
  "24h": { label: "Last 24 hours", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 7 * 86_400_000 },
  "30d": { label: "Last 30 days", ms: 30 * 86_400_000 },
} as const;
export type Period = keyof typeof PERIODS;

// The start of a period moves in this many steps: moving every second, it would be a new request every second.
const STEPS = 12;

export function periodStart(period: Period, now: number): string {
  const { ms } = PERIODS[period];
  const step = ms / STEPS;
  return new Date(Math.floor(now / step) * step - ms).toISOString();
}

/** The start of a period when it was chosen. For lists that are loaded page by page: with another start, they would begin again at the first page. */
export function useFixedPeriodStart(period: Period | undefined): string | undefined {
  return useMemo(() => period && periodStart(period, serverTimeIn(0).getTime()), [period]);
}

export function periodParam(value: unknown): Period | undefined {
  const name = textParam(value);
  return name !== undefined && Object.hasOwn(PERIODS, name) ? (name as Period) : undefined;
}

/** A time in the format of the API; undefined for other values. */
export function timeParam(value: unknown): string | undefined {
  const text = textParam(value);
  const at = text !== undefined && /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? new Date(text) : undefined;
  return at && !Number.isNaN(at.getTime()) ? at.toISOString() : undefined;
}

/** The router parses a parameter of digits as a number. */
export function textParam(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const text = String(value).trim();
  return text === "" ? undefined : text;
}

/** An object with the key, or an empty one where the value is undefined. */
export function given<Key extends string, Value>(key: Key, value: Value | undefined): Partial<Record<Key, Value>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, Value>);
}

export function hasFilters(search: object): boolean {
  return Object.values(search).some((value) => value !== undefined && value !== "");
}
