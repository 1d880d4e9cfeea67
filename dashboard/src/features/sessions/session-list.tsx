/** A list of sessions: column names that sort it, rows and pages. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import ButtonBase from "@mui/material/ButtonBase";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { ArrowDown, ArrowUp, ChevronLeft, ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import { memo, useDeferredValue, useMemo } from "react";
import { VisuallyHidden } from "@/components/badge";
import { Choice } from "@/components/fields";
import { searchWords } from "@/components/highlighted";
import type { Selection } from "@/components/selection";
import type { SessionListItem, SessionSort } from "@/wire/types";
import type { Column, ColumnId, SessionSearch, Sorting } from "./search";
import { chosenColumns, COLUMNS, defaultOrder, gridOf, leastWidth, ROWS, STATUS_COLUMN } from "./search";
import { SessionRow } from "./session-row";

interface SessionListProps {
  title: "Active" | "Ended";
  total: number;
  sessions: SessionListItem[];
  selection: Selection;
  search: SessionSearch;
  /** Absent for a list with a fixed order. */
  onSort?: (by: SessionSort) => void;
  note?: string | undefined;
  actions?: ReactNode;
}

export function SessionList({ title, total, sessions, selection, search, onSort, note, actions }: SessionListProps) {
  const columns = useMemo(() => chosenColumns(search.columns), [search.columns]);
  const { has, select, selectAll } = selection;
  const words = useMemo(() => searchWords(search.text), [search.text]);
  // Deferred: rendering 200 rows at once would block typing. A selection renders its row only.
  const rows = useDeferredValue(sessions);
  return (
    <Paper component="section" aria-label={`${title} sessions`} variant="outlined" sx={{ overflow: "hidden" }}>
      {/* Columns that do not fit are scrolled to. */}
      <Box sx={{ overflowX: { md: "auto" } }}>
        <Box sx={{ minWidth: { md: leastWidth(columns) } }}>
          <Box sx={{ display: "grid", gridTemplateColumns: { xs: "1fr", md: gridOf(columns) }, columnGap: 2, px: 2, py: 0.9, alignItems: "center" }}>
            <Box
              component="input"
              type="checkbox"
              aria-label={`Select all ${title.toLowerCase()} sessions of this page`}
              checked={sessions.every(({ id }) => has(id))}
              onChange={(event: React.ChangeEvent<HTMLInputElement>) => selectAll(sessions.map(({ id }) => id), event.target.checked)}
              sx={{ display: { xs: "none", md: "block" }, m: 0, width: 16, height: 16 }}
            />
            <Box sx={{ display: "flex", alignItems: "baseline", justifyContent: "space-between", gap: 1 }}>
              <Typography variant="h2" sx={{ whiteSpace: "nowrap" }}>
                {title}{" "}
                <Box component="span" sx={{ ml: 0.5, color: "text.secondary", fontWeight: 400 }}>
                  {total.toLocaleString()}
                </Box>
              </Typography>
              {onSort && <ColumnName column={STATUS_COLUMN} sorting={search} onSort={onSort} />}
            </Box>
            <PlainName>Alert and finding</PlainName>
            {COLUMNS.filter(({ id }) => columns.includes(id)).map((column) => (
              <ColumnName key={column.id} column={column.id === "author" && !onSort ? { ...column, label: "Stage" } : column} sorting={search} onSort={onSort} />
            ))}
          </Box>
          <Rows sessions={rows} columns={columns} words={words} has={has} onSelect={select} />
        </Box>
      </Box>
      {(note ?? actions) && (
        <Stack direction="row" sx={{ px: 2, py: 0.75, gap: 1, alignItems: "center", flexWrap: "wrap", borderTop: 1, borderColor: "divider" }}>
          <Typography variant="body2" color="textSecondary" sx={{ flex: 1 }}>
            {note}
          </Typography>
          {actions}
        </Stack>
      )}
    </Paper>
  );
}

function ColumnName({ column, sorting, onSort }: { column: Column; sorting: Sorting; onSort: ((by: SessionSort) => void) | undefined }) {
  const { sort, label, isNumber = false } = column;
  if (!sort || !onSort) return <PlainName right={isNumber}>{label}</PlainName>;
  const order = (sorting.sort ?? "created") === sort ? (sorting.order ?? defaultOrder(sort)) : null;
  const Arrow = order === "asc" ? ArrowUp : ArrowDown;
  return (
    <ButtonBase onClick={() => onSort(sort)} sx={{ display: { xs: "none", md: "inline-flex" }, justifyContent: isNumber ? "flex-end" : "flex-start", gap: 0.25, font: "inherit", fontSize: "0.78rem", color: order ? "text.primary" : "text.secondary", fontWeight: order ? 600 : 400, whiteSpace: "nowrap", "&:hover": { color: "text.primary" } }}>
      {order && <Arrow size={13} aria-hidden />}
      <VisuallyHidden>Sort by</VisuallyHidden>
      {label}
      {order && <VisuallyHidden>{order === "asc" ? "sorted from the smallest" : "sorted from the largest"}</VisuallyHidden>}
    </ButtonBase>
  );
}

function PlainName({ children, right = false }: { children: string; right?: boolean }) {
  return (
    <Typography variant="caption" color="textSecondary" aria-hidden sx={{ display: { xs: "none", md: "block" }, textAlign: right ? "right" : "left", whiteSpace: "nowrap" }}>
      {children}
    </Typography>
  );
}

interface RowsProps {
  sessions: readonly SessionListItem[];
  columns: readonly ColumnId[];
  words: readonly string[];
  has: Selection["has"];
  onSelect: Selection["select"];
}

const Rows = memo(function Rows({ sessions, columns, words, has, onSelect }: RowsProps) {
  const grid = gridOf(columns);
  return (
    <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
      {sessions.map((session) => (
        <SessionRow key={session.id} session={session} columns={columns} grid={grid} selected={has(session.id)} words={words} onSelect={onSelect} />
      ))}
    </Box>
  );
});

interface PagesProps {
  page: number;
  rows: number;
  total: number;
  onPage: (page: number) => void;
  onRows: (rows: number) => void;
}

export function Pages({ page, rows, total, onPage, onRows }: PagesProps) {
  const pages = Math.max(1, Math.ceil(total / rows));
  const first = (page - 1) * rows + 1;
  const shown = first > total ? "nothing on this page" : `${first.toLocaleString()} to ${Math.min(total, page * rows).toLocaleString()}`;
  return (
    <Stack component="nav" aria-label="Pages" direction="row" sx={{ alignItems: "center", justifyContent: "center", flexWrap: "wrap", gap: 1 }}>
      <Button size="small" startIcon={<ChevronLeft size={15} />} disabled={page <= 1} onClick={() => onPage(Math.min(page - 1, pages))}>
        Previous page
      </Button>
      <Typography variant="body2" color="textSecondary" role="status" sx={{ fontVariantNumeric: "tabular-nums" }}>
        {shown} of {total.toLocaleString()}, page {page.toLocaleString()} of {pages.toLocaleString()}
      </Typography>
      <Button size="small" endIcon={<ChevronRight size={15} />} disabled={page >= pages} onClick={() => onPage(page + 1)}>
        Next page
      </Button>
      {total > ROWS[0] && (
        <Choice label="Rows per page" value={rows === ROWS[0] ? "" : String(rows)} all={`${ROWS[0]} rows`} onValue={(value) => onRows(Number(value ?? ROWS[0]))}>
          {ROWS.slice(1).map((number) => [String(number), `${number} rows`] as const)}
        </Choice>
      )}
    </Stack>
  );
}
