/** Pure module: the list's filters as they stand in the address, and as the API wants them. */
import type { SessionFilter } from "@/api/sessions";
import { ACTIVE, ENDED } from "@/api/sessions";
import type { SessionStatus } from "@/wire/types";

export const PERIODS = {
  "1h": { label: "Last hour", ms: 3_600_000 },
  "24h": { label: "Last 24 hours", ms: 86_400_000 },
  "7d": { label: "Last 7 days", ms: 7 * 86_400_000 },
  "30d": { label: "Last 30 days", ms: 30 * 86_400_000 },
} as const;
export type Period = keyof typeof PERIODS;

export interface SessionSearch {
  text?: string;
  /** Joined by commas. */
  status?: string;
  type?: string;
  chain?: string;
  since?: Period;
}

const STATUSES: ReadonlySet<string> = new Set([...ACTIVE, ...ENDED]);

export function readSearch(raw: Record<string, unknown>): SessionSearch {
  const status = statusesOf(word(raw["status"]));
  const since = word(raw["since"]);
  return {
    ...given("text", word(raw["text"])),
    ...given("status", status.length > 0 ? status.join(",") : undefined),
    ...given("type", word(raw["type"])),
    ...given("chain", word(raw["chain"])),
    ...(since !== undefined && Object.hasOwn(PERIODS, since) ? { since: since as Period } : {}),
  };
}

export function statusesOf(joined: string | undefined): SessionStatus[] {
  return (joined ?? "").split(",").filter((status): status is SessionStatus => STATUSES.has(status));
}

// A period slides in so many steps: with every second it would be another question to the server every second.
const STEPS = 12;

export function filterOf(search: SessionSearch, now: number): SessionFilter {
  const status = statusesOf(search.status);
  return {
    ...given("status", status.length > 0 ? status : undefined),
    ...given("alert_type", search.type),
    ...given("chain_id", search.chain),
    ...given("text", search.text),
    ...given("from", search.since && beginOf(PERIODS[search.since].ms, now)),
  };
}

function beginOf(period: number, now: number): string {
  const step = period / STEPS;
  return new Date(Math.floor(now / step) * step - period).toISOString();
}

export function isFiltered(search: SessionSearch): boolean {
  return Object.values(search).some((value) => value !== undefined && value !== "");
}

function word(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const text = String(value).trim();
  return text === "" ? undefined : text;
}

function given<Key extends string, Value>(key: Key, value: Value | undefined): Partial<Record<Key, Value>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, Value>);
}
