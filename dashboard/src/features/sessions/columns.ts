/** Pure module: the columns that a list of sessions can have, and those that a reader has chosen. */
import type { SessionSort, SortOrder } from "@/wire/types";

export interface Column {
  id: string;
  label: string;
  /** In pixels. */
  width: number;
  /** What the server sorts by. */
  sort?: SessionSort;
  figure?: true;
}

/** In the order in which they stand. */
export const COLUMNS = [
  { id: "severity", label: "Severity", width: 92, sort: "severity" },
  { id: "verdict", label: "Verdict, author", width: 170, sort: "outcome" },
  { id: "confidence", label: "Confidence", width: 104, sort: "confidence" },
  { id: "citations", label: "Citations", width: 76, sort: "citations", figure: true },
  { id: "agents", label: "Agents", width: 64, sort: "agents", figure: true },
  { id: "fallback", label: "Fallbacks", width: 78, sort: "fallbacks", figure: true },
  { id: "chat", label: "Questions", width: 82, sort: "questions", figure: true },
  { id: "score", label: "Score", width: 56, sort: "score", figure: true },
  { id: "tokens", label: "Tokens", width: 72, sort: "tokens", figure: true },
  { id: "cost", label: "Cost", width: 72, sort: "cost", figure: true },
  { id: "duration", label: "Duration", width: 84, sort: "duration", figure: true },
  { id: "submitted", label: "Submitted", width: 96, sort: "created", figure: true },
] as const satisfies readonly Column[];
export type ColumnId = (typeof COLUMNS)[number]["id"];

const USUAL: readonly ColumnId[] = ["verdict", "tokens", "duration", "submitted"];

/** The columns that an address names, the usual ones where it names none. */
export function chosenColumns(joined: string | undefined): readonly ColumnId[] {
  const named = new Set(joined?.split(","));
  const known = COLUMNS.map(({ id }) => id).filter((id) => named.has(id));
  return known.length > 0 ? known : USUAL;
}

/** As the address says it; undefined for the usual ones. */
export function joinedColumns(chosen: Iterable<ColumnId>): string | undefined {
  const wanted = new Set(chosen);
  const ids = COLUMNS.map(({ id }) => id).filter((id) => wanted.has(id));
  return ids.length === 0 || ids.join() === USUAL.join() ? undefined : ids.join();
}

// The box to mark a row, its status, and the least that an alert's title can be read in.
const FIRST = [20, 124, 220] as const;
// Between two columns, and at both ends of a row.
const GAP = 16;

export function gridOf(chosen: readonly ColumnId[]): string {
  const [mark, status, alert] = FIRST;
  return `${mark}px ${status}px minmax(${alert}px, 1fr) ${widthsOf(chosen).map((width) => `${width}px`).join(" ")}`;
}

/** Of a row of these columns, in pixels. */
export function leastWidth(chosen: readonly ColumnId[]): number {
  const widths = [...FIRST, ...widthsOf(chosen)];
  return widths.reduce((sum, width) => sum + width, 0) + GAP * (widths.length + 1);
}

function widthsOf(chosen: readonly ColumnId[]): number[] {
  return COLUMNS.filter(({ id }) => chosen.includes(id)).map(({ width }) => width);
}

export interface Sorting {
  sort?: SessionSort | undefined;
  order?: SortOrder | undefined;
}

/** Names from the first, figures from the largest: as the server does where it is not told. */
export function usualOrder(sort: SessionSort): SortOrder {
  return sort === "outcome" || sort === "alert_type" || sort === "queue" ? "asc" : "desc";
}

/** What a press on a column's name makes of the order: its usual way, the other way, and back to the newest first. */
export function nextSorting({ sort, order }: Sorting, pressed: SessionSort): Sorting {
  const current = sort ?? "created";
  const way = order ?? usualOrder(current);
  if (current !== pressed) return { sort: pressed };
  if (way === usualOrder(pressed)) return { sort: pressed, order: way === "asc" ? "desc" : "asc" };
  return {};
}
