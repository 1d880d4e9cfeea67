/** The pages of a list, by their numbers, and how much there is in all. */
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { Choice } from "@/components/filter-fields";
import { ROWS } from "./search";

interface PagerProps {
  page: number;
  rows: number;
  total: number;
  onPage: (page: number) => void;
  onRows: (rows: number) => void;
}

export function Pager({ page, rows, total, onPage, onRows }: PagerProps) {
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
        <Choice label="Rows of a page" value={rows === ROWS[0] ? "" : String(rows)} all={`${ROWS[0]} rows`} onValue={(value) => onRows(Number(value ?? ROWS[0]))}>
          {ROWS.slice(1).map((number) => [String(number), `${number} rows`] as const)}
        </Choice>
      )}
    </Stack>
  );
}
