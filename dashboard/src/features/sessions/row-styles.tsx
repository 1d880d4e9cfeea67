/** How a row of sessions looks, written once for all of them: a page has two hundred, and each has a dozen parts. */
import GlobalStyles from "@mui/material/GlobalStyles";
import { LIST_ROW, ROW_LINK } from "@/components/list-row";
import { MONO, ONE_LINE } from "@/components/text-styles";
import type { SystemStyleObject } from "@mui/system";
import type { Theme } from "@mui/material/styles";

export const ROW_CLASS = "session-row";

// The title needs the room more where there is little.
const GIVES_WAY = { "@container (max-width: 340px)": { display: "none" } } as const;

const ROW: SystemStyleObject<Theme> = {
  ...LIST_ROW,
  gridTemplateColumns: { xs: "1fr auto", md: "var(--columns)" },
  fontSize: "0.875rem",
  // Rows out of sight are neither laid out nor painted.
  contentVisibility: "auto",
  containIntrinsicSize: "auto 62px",
  color: "text.secondary",
  "& > input": { display: { xs: "none", md: "block" }, position: "relative", zIndex: 1, m: 0, width: 16, height: 16, accentColor: "var(--mui-palette-primary-main)" },
  "& > .status": { gridRow: { xs: 1, md: "auto" } },
  "& > .about": { minWidth: 0, containerType: "inline-size", gridColumn: { xs: "1 / -1", md: "auto" }, gridRow: { xs: 2, md: "auto" } },
  "& .title": { display: "flex", alignItems: "baseline", gap: 1, fontSize: "0.92rem" },
  "& .title > a": { ...ROW_LINK, ...ONE_LINE, display: "block" },
  "& .type": { ...ONE_LINE, ...GIVES_WAY, display: { xs: "none", sm: "block" }, flexShrink: 0, maxWidth: "40%", fontFamily: MONO, fontSize: "0.75rem" },
  "& .line": ONE_LINE,
  "& > .cell": { display: { xs: "none", md: "block" }, minWidth: 0 },
  "& > .figure": { textAlign: "right", fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" },
  "& > .came": { display: { xs: "block", md: "block" }, gridColumn: { xs: "1 / -1", md: "auto" } },
  "& > .came[data-ended=true]": { display: { xs: "none", md: "block" } },
  "& > .when": { display: "block", gridRow: { xs: 1, md: "auto" }, gridColumn: { xs: 2, md: "auto" }, position: "relative", zIndex: 1 },
};

export function RowStyles() {
  return <GlobalStyles styles={(theme) => ({ [`.${ROW_CLASS}`]: theme.unstable_sx(ROW) })} />;
}
