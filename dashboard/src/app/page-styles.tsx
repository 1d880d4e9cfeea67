/** What holds for every page before any part of it has looks of its own. */
import GlobalStyles from "@mui/material/GlobalStyles";
import type { Theme } from "@mui/material/styles";
import { MONO } from "@/components/text-styles";

// In place of MUI's CssBaseline. A rule for `*::before, *::after` has the browser work out two more styles for every element that it draws:
// two thirds of the work on rows that come into view. Those few that have such a part say themselves how it is sized.
const styles = ({ palette, typography }: Theme) => ({
  html: { WebkitFontSmoothing: "antialiased", MozOsxFontSmoothing: "grayscale", WebkitTextSizeAdjust: "100%" },
  "*": { boxSizing: "border-box" as const },
  "strong, b": { fontWeight: typography.fontWeightBold },
  body: { ...typography.body1, margin: 0, overflowY: "scroll" as const, color: "var(--mui-palette-text-primary)", backgroundColor: "var(--mui-palette-background-default)" },
  // Ink is saved.
  "@media print": { body: { backgroundColor: palette.common.white } },
  "[data-theme=light]": { colorScheme: "light" },
  "[data-theme=dark]": { colorScheme: "dark" },
  "code, pre, kbd": { fontFamily: MONO },
  mark: { color: "inherit", backgroundColor: "var(--mui-palette-mark-words)", borderRadius: 2 },
  ":focus-visible": { outline: "2px solid var(--mui-palette-primary-main)", outlineOffset: 1 },
});

export function PageStyles() {
  return <GlobalStyles styles={styles} />;
}
