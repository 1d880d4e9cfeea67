/** The names of a list's columns; a press on one sorts by it. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import Typography from "@mui/material/Typography";
import { ArrowDown, ArrowUp } from "lucide-react";
import { Spoken } from "@/components/spoken";
import type { SessionSort } from "@/wire/types";
import type { Column, ColumnId, Sorting } from "./columns";
import { COLUMNS, gridOf, usualOrder } from "./columns";

interface ListHeadProps {
  title: string;
  total: number;
  columns: readonly ColumnId[];
  /** Whether all rows that are shown are marked. */
  allMarked: boolean;
  onMarkAll: (marked: boolean) => void;
  /** Absent where the list has an order of its own. */
  sorting?: Sorting;
  onSort?: (by: SessionSort) => void;
}

export function ListHead({ title, total, columns, allMarked, onMarkAll, sorting, onSort }: ListHeadProps) {
  return (
    <Box sx={{ display: "grid", gridTemplateColumns: { xs: "1fr", md: gridOf(columns) }, columnGap: 2, px: 2, py: 0.9, alignItems: "center" }}>
      <Box component="input" type="checkbox" aria-label={`Select all ${title.toLowerCase()} sessions of this page`} checked={allMarked} onChange={(event: React.ChangeEvent<HTMLInputElement>) => onMarkAll(event.target.checked)} sx={{ display: { xs: "none", md: "block" }, m: 0, width: 16, height: 16 }} />
      <Typography variant="h2" sx={{ whiteSpace: "nowrap" }}>
        {title}{" "}
        <Box component="span" sx={{ ml: 0.5, color: "text.secondary", fontWeight: 400 }}>
          {total.toLocaleString()}
        </Box>
      </Typography>
      <Plain>Alert</Plain>
      {COLUMNS.filter(({ id }) => columns.includes(id)).map((column) => (
        <Name key={column.id} column={column.id === "verdict" && !onSort ? { ...column, label: "Stage" } : column} sorting={sorting} onSort={onSort} />
      ))}
    </Box>
  );
}

function Name({ column, sorting, onSort }: { column: Column; sorting: Sorting | undefined; onSort: ((by: SessionSort) => void) | undefined }) {
  const { sort, label, figure = false } = column;
  if (!sort || !onSort || !sorting) return <Plain right={figure}>{label}</Plain>;
  const way = (sorting.sort ?? "created") === sort ? (sorting.order ?? usualOrder(sort)) : null;
  const Arrow = way === "asc" ? ArrowUp : ArrowDown;
  return (
    <ButtonBase onClick={() => onSort(sort)} sx={{ display: { xs: "none", md: "inline-flex" }, justifyContent: figure ? "flex-end" : "flex-start", gap: 0.25, font: "inherit", fontSize: "0.78rem", color: way ? "text.primary" : "text.secondary", fontWeight: way ? 600 : 400, whiteSpace: "nowrap", "&:hover": { color: "text.primary" } }}>
      {way && <Arrow size={13} aria-hidden />}
      <Spoken>Sort by</Spoken>
      {label}
      {way && <Spoken>{way === "asc" ? "sorted from the smallest" : "sorted from the largest"}</Spoken>}
    </ButtonBase>
  );
}

function Plain({ children, right = false }: { children: string; right?: boolean }) {
  return (
    <Typography variant="caption" color="textSecondary" aria-hidden sx={{ display: { xs: "none", md: "block" }, textAlign: right ? "right" : "left", whiteSpace: "nowrap" }}>
      {children}
    </Typography>
  );
}
