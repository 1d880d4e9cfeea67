/** The search parameters of the session list: filters, order, page and columns. */
import type { SessionFilter, SessionSlice } from "@/api/sessions";
import type { Period } from "@/components/search-params";
import { given, hasFilters, periodParam, periodStart, textParam, timeParam } from "@/components/search-params";
import { ACTIVE_STATUSES, ENDED_STATUSES } from "@/presentation/statuses";
import { parseOutcome } from "@/presentation/verdict";
import type { SessionSort, SessionStatus, SortOrder, VerdictOutcome } from "@/wire/types";

interface SessionFilters {
  text?: string;
  /** Joined by commas. */
  status?: string;
  type?: string;
  chain?: string;
  verdict?: VerdictOutcome;
  review?: "no" | "yes";
  since?: Period;
  /** Times instead of a period. */
  from?: string;
  to?: string;
}

export interface SessionSearch extends SessionFilters {
  sort?: SessionSort;
  order?: SortOrder;
  /** From 1, which is omitted. */
  page?: number;
  /** Rows per page. */
  rows?: number;
  columns?: string;
}

const REVIEWS = ["no", "yes"] as const;
const STATUSES: ReadonlySet<string> = new Set([...ACTIVE_STATUSES, ...ENDED_STATUSES]);
/** The possible numbers of rows of a page; the first is the default. */
export const ROWS = [50, 100, 200] as const;
// The server counts no further.
const LARGEST_OFFSET = 100_000;

export function readSessionSearch(raw: Record<string, unknown>): SessionSearch {
  const status = statusesOf(textParam(raw["status"]));
  const sort = [STATUS_COLUMN, ...COLUMNS].flatMap((column) => ("sort" in column ? [column.sort] : [])).find((known) => known === raw["sort"]);
  const since = periodParam(raw["since"]);
  const range = since === undefined ? { ...given("from", timeParam(raw["from"])), ...given("to", timeParam(raw["to"])) } : {};
  const page = Number(raw["page"]);
  return {
    ...given("text", textParam(raw["text"])),
    ...given("status", status.length > 0 ? status.join(",") : undefined),
    ...given("type", textParam(raw["type"])),
    ...given("chain", textParam(raw["chain"])),
    ...given("verdict", parseOutcome(textParam(raw["verdict"]))),
    ...given("review", REVIEWS.find((review) => review === raw["review"])),
    ...given("since", since),
    ...range,
    ...readSorting(sort, raw["order"]),
    ...given("page", Number.isInteger(page) && page > 1 && page * ROWS[0] <= LARGEST_OFFSET ? page : undefined),
    ...given("rows", ROWS.find((rows) => rows !== ROWS[0] && rows === Number(raw["rows"]))),
    ...given("columns", joinColumns(chosenColumns(textParam(raw["columns"])))),
  };
}

/** Omits the default order. */
function readSorting(sort: SessionSort | undefined, order: unknown): Sorting {
  const by = sort ?? "created";
  const other = defaultOrder(by) === "asc" ? "desc" : "asc";
  if (order === other) return { sort: by, order: other };
  return sort === undefined || sort === "created" ? {} : { sort };
}

/** Keeps order, rows and columns. */
export function withoutFilters({ sort, order, rows, columns }: SessionSearch): SessionSearch {
  return { ...given("sort", sort), ...given("order", order), ...given("rows", rows), ...given("columns", columns) };
}

export function isFiltered({ text, status, type, chain, verdict, review, since, from, to }: SessionSearch): boolean {
  return hasFilters({ text, status, type, chain, verdict, review, since, from, to });
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
    ...given("outcome", search.verdict && [search.verdict]),
    ...given("reviewed", search.review && search.review === "yes"),
    ...given("text", search.text),
    ...given("from", search.since ? periodStart(search.since, now) : search.from),
    ...given("to", search.to),
  };
}

export function sliceOf({ page = 1, rows = ROWS[0], sort, order }: SessionSearch): SessionSlice {
  return { ...given("sort", sort), ...given("order", order), offset: Math.min((page - 1) * rows, LARGEST_OFFSET), limit: rows };
}

export interface Column {
  id: string;
  label: string;
  /** In pixels. */
  width: number;
  /** The order of the server for this column. */
  sort?: SessionSort;
  isNumber?: true;
}

/** The first column, which is always shown. */
export const STATUS_COLUMN = { id: "status", label: "Verdict", width: 200, sort: "outcome" } as const satisfies Column;

/** In the order of the list. */
export const COLUMNS = [
  { id: "severity", label: "Severity", width: 92, sort: "severity" },
  { id: "author", label: "Author", width: 130 },
  { id: "confidence", label: "Confidence", width: 104, sort: "confidence" },
  { id: "citations", label: "Citations", width: 76, sort: "citations", isNumber: true },
  { id: "agents", label: "Agents", width: 64, sort: "agents", isNumber: true },
  { id: "fallback", label: "Fallbacks", width: 78, sort: "fallbacks", isNumber: true },
  { id: "chat", label: "Questions", width: 82, sort: "questions", isNumber: true },
  { id: "score", label: "Score", width: 56, sort: "score", isNumber: true },
  { id: "tokens", label: "Tokens", width: 72, sort: "tokens", isNumber: true },
  { id: "cost", label: "Cost", width: 72, sort: "cost", isNumber: true },
  { id: "duration", label: "Duration", width: 84, sort: "duration", isNumber: true },
  { id: "submitted", label: "Submitted", width: 96, sort: "created", isNumber: true },
] as const satisfies readonly Column[];
export type ColumnId = (typeof COLUMNS)[number]["id"];

const DEFAULT_COLUMNS: readonly ColumnId[] = ["author", "tokens", "duration", "submitted"];

/** The columns of the parameter, or the default ones. */
export function chosenColumns(joined: string | undefined): readonly ColumnId[] {
  // Links of earlier versions name the author's column after the verdict, which shared it.
  const named = new Set(joined?.replace("verdict", "author").split(","));
  const known = COLUMNS.map(({ id }) => id).filter((id) => named.has(id));
  return known.length > 0 ? known : DEFAULT_COLUMNS;
}

/** The parameter for these columns; undefined for the default ones. */
export function joinColumns(chosen: Iterable<ColumnId>): string | undefined {
  const wanted = new Set(chosen);
  const ids = COLUMNS.map(({ id }) => id).filter((id) => wanted.has(id));
  return ids.length === 0 || ids.join() === DEFAULT_COLUMNS.join() ? undefined : ids.join();
}

// The checkbox, the status, and the least width of the title, in pixels.
const FIXED_WIDTHS = [20, STATUS_COLUMN.width, 220] as const;
// Between columns, and at both ends of a row.
const GAP = 16;

export function gridOf(chosen: readonly ColumnId[]): string {
  const [checkbox, status, title] = FIXED_WIDTHS;
  return `${checkbox}px ${status}px minmax(${title}px, 1fr) ${widthsOf(chosen).map((width) => `${width}px`).join(" ")}`;
}

/** The least width of a row, in pixels. */
export function leastWidth(chosen: readonly ColumnId[]): number {
  const widths = [...FIXED_WIDTHS, ...widthsOf(chosen)];
  return widths.reduce((sum, width) => sum + width, 0) + GAP * (widths.length + 1);
}

function widthsOf(chosen: readonly ColumnId[]): number[] {
  return COLUMNS.filter(({ id }) => chosen.includes(id)).map(({ width }) => width);
}

export type Sorting = Pick<SessionSearch, "sort" | "order">;

/** As on the server: names ascending, numbers descending. */
export function defaultOrder(sort: SessionSort): SortOrder {
  return sort === "outcome" || sort === "alert_type" || sort === "queue" ? "asc" : "desc";
}

/** The order after a click on a column's name: its default order, the reverse, and none. */
export function nextSorting({ sort, order }: Sorting, clicked: SessionSort): Sorting {
  const current = sort ?? "created";
  const currentOrder = order ?? defaultOrder(current);
  if (current !== clicked) return { sort: clicked };
  if (currentOrder === defaultOrder(clicked)) return { sort: clicked, order: currentOrder === "asc" ? "desc" : "asc" };
  return {};
}
