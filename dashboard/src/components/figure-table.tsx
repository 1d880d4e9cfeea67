/** A table of names and figures. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import { useState } from "react";
import { ONE_LINE } from "./text-styles";

const SHOWN_ROWS = 8;

/** A long table is cut until the user asks for all rows. */
export function FigureTable({ label, head, rows }: { label: string; head: string[]; rows: string[][] }) {
  const [all, setAll] = useState(false);
  const shown = all ? rows : rows.slice(0, SHOWN_ROWS);
  return (
    <>
      <Box component="table" aria-label={label} sx={{ width: "100%", borderCollapse: "collapse", tableLayout: "fixed", fontSize: { xs: "0.8rem", sm: "0.85rem" }, "& th, & td": { px: { xs: 0.75, sm: 1.5 }, py: 0.5, textAlign: "right", whiteSpace: "nowrap" }, "& th:first-of-type, & td:first-of-type": { textAlign: "left", width: { xs: head.length > 4 ? "28%" : "40%", sm: "50%" }, ...ONE_LINE }, "& td": { borderTop: 1, borderColor: "divider", fontVariantNumeric: "tabular-nums" } }}>
        <thead>
          <tr>
            {head.map((name, column) => (
              <th key={column} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map(([name, ...figures], row) => (
            <tr key={row}>
              <td title={name}>{name}</td>
              {figures.map((figure, column) => (
                <td key={column}>{figure}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </Box>
      {rows.length > shown.length && (
        <Button size="small" onClick={() => setAll(true)}>
          Show all {rows.length}
        </Button>
      )}
    </>
  );
}
