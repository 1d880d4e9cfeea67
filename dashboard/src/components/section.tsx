/** A titled panel. */
import Box from "@mui/material/Box";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { ReactNode } from "react";
import { useId } from "react";

interface SectionProps {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
  flush?: boolean;
  /** Show the title only. */
  folded?: boolean;
}

export function Section({ title, actions, children, flush = false, folded = false }: SectionProps) {
  const id = useId();
  return (
    <Paper component="section" aria-labelledby={id} variant="outlined" sx={{ overflow: "clip", flexShrink: 0 }}>
      <Stack direction="row" sx={{ alignItems: "center", flexWrap: "wrap", gap: 1, px: 2, py: 1, borderBottom: folded ? 0 : 1, borderColor: "divider", minHeight: 45 }}>
        <Typography id={id} variant="h2" sx={{ flex: "1 0 auto", maxWidth: "100%" }}>
          {title}
        </Typography>
        {actions}
      </Stack>
      {!folded && <Box sx={flush ? FLUSH : { p: 2 }}>{children}</Box>}
    </Paper>
  );
}

/** A failure needs some distance from the edge. */
const FLUSH = { "& > [role=alert]": { m: 2 } };

/** A name and its value in a description list. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Box sx={{ minWidth: 0 }}>
      <Typography component="dt" variant="caption" color="textSecondary" sx={{ display: "block" }}>
        {name}
      </Typography>
      <Typography component="dd" variant="body2" sx={{ m: 0, overflowWrap: "anywhere" }}>
        {children}
      </Typography>
    </Box>
  );
}
