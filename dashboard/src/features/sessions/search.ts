/** Pure module: a view of the list as it stands in the address, and as the API wants it. */
import type { SessionFilter, SessionPlace } from "@/api/sessions";
import { ACTIVE, ENDED } from "@/api/sessions";
import type { Period } from "@/components/search-words";
import { beginOf, given, isFiltered, momentOf, periodOf, word } from "@/components/search-words";
import type { SessionSort, SessionStatus, SortOrder } from "@/wire/types";
import { chosenColumns, COLUMNS, joinedColumns, usualOrder } from "./columns";

interface SessionFilters {
  text?: string;
  /** Joined by commas. */
  status?: string;
  type?: string;
  chain?: string;
  since?: Period;
  /** A range of one's own, instead of a period. */
  from?: string;
  to?: string;
}

export interface SessionSearch extends SessionFilters {
  sort?: SessionSort;
  order?: SortOrder;
  /** From 1, which is left out. */
  page?: number;
  /** Rows of a page. */
  rows?: number;
  columns?: string;
}

const STATUSES: ReadonlySet<string> = new Set([...ACTIVE, ...ENDED]);
/** Rows that a page may have; the first is usual. */
export const ROWS = [50, 100, 200] as const;
// As far as the server counts.
const FURTHEST = 100_000;

export function readSearch(raw: Record<string, unknown>): SessionSearch {
  const status = statusesOf(word(raw["status"]));
  const sort = sortOf(raw["sort"]);
  const since = periodOf(raw["since"]);
  const range = since === undefined ? { ...given("from", momentOf(raw["from"])), ...given("to", momentOf(raw["to"])) } : {};
  return {
    ...given("text", word(raw["text"])),
    ...given("status", status.length > 0 ? status.join(",") : undefined),
    ...given("type", word(raw["type"])),
    ...given("chain", word(raw["chain"])),
    ...given("since", since),
    ...range,
    ...sorting(sort, raw["order"]),
    ...given("page", pageOf(raw["page"])),
    ...given("rows", ROWS.find((rows) => rows !== ROWS[0] && rows === Number(raw["rows"]))),
    ...given("columns", joinedColumns(chosenColumns(word(raw["columns"])))),
  };
}

/** What is left of a view when nothing is left out any more: how it looks. */
export function withoutFilters({ sort, order, rows, columns }: SessionSearch): SessionSearch {
  return { ...given("sort", sort), ...given("order", order), ...given("rows", rows), ...given("columns", columns) };
}

/** Whether the filters leave anything out. */
export function leavesOut({ text, status, type, chain, since, from, to }: SessionSearch): boolean {
  return isFiltered({ text, status, type, chain, since, from, to });
}

function sortOf(value: unknown): SessionSort | undefined {
  return COLUMNS.flatMap((column) => ("sort" in column ? [column.sort] : [])).find((sort) => sort === value);
}

function sorting(sort: SessionSort | undefined, order: unknown): { sort?: SessionSort; order?: SortOrder } {
  const by = sort ?? "created";
  const other = usualOrder(by) === "asc" ? "desc" : "asc";
  if (order === other) return { sort: by, order: other };
  return sort === undefined || sort === "created" ? {} : { sort };
}

function pageOf(value: unknown): number | undefined {
  const page = Number(value);
  return Number.isInteger(page) && page > 1 && page * ROWS[0] <= FURTHEST ? page : undefined;
}

export function statusesOf(joined: string | undefined): SessionStatus[] {
  return (joined ?? "").split(",").filter((status): status is SessionStatus => STATUSES.has(status));
}

export function filterOf(search: SessionSearch, now: number): SessionFilter {
  const status = statusesOf(search.status);
  return {
    ...given("status", status.length > 0 ? status : undefined),
    ...given("alert_type", search.type),
    ...given("chain_id", search.chain),
    ...given("text", search.text),
    ...given("from", search.since ? beginOf(search.since, now) : search.from),
    ...given("to", search.to),
  };
}

export function placeOf({ page = 1, rows = ROWS[0], sort, order }: SessionSearch): SessionPlace {
  return { ...given("sort", sort), ...given("order", order), offset: Math.min((page - 1) * rows, FURTHEST), limit: rows };
}
