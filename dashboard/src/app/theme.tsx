/** The theme: colours, typography and defaults of MUI's components. All text has a contrast of at least 4.5 in both schemes. */
import GlobalStyles from "@mui/material/GlobalStyles";
import type { Theme } from "@mui/material/styles";
import { createTheme } from "@mui/material/styles";
import { MONO, SANS } from "@/components/text-styles";

interface CodeColors {
  inline: string;
  block: string;
  name: string;
  string: string;
  number: string;
  keyword: string;
}

/** Marked text: the words, their line, and the edge of the line. */
interface MarkColors {
  words: string;
  line: string;
  edge: string;
}

declare module "@mui/material/styles" {
  interface Palette {
    code: CodeColors;
    mark: MarkColors;
  }
  interface PaletteOptions {
    code?: CodeColors;
    mark?: MarkColors;
  }
}

const light = {
  primary: { main: "#1d5bb8" },
  success: { main: "#00694f" },
  info: { main: "#1d5bb8" },
  warning: { main: "#8a5200" },
  error: { main: "#b3261e" },
  background: { default: "#f6f7f9", paper: "#ffffff" },
  text: { primary: "#1b2430", secondary: "#55606f" },
  divider: "#dfe3e8",
  code: { inline: "#eef1f4", block: "#f9fafb", name: "#1d5bb8", string: "#00694f", number: "#8a3ea8", keyword: "#b3261e" },
  mark: { words: "#ffe08a", line: "#fff7dc", edge: "#c98a00" },
};

const dark = {
  primary: { main: "#86b7ff" },
  success: { main: "#5fd0ad" },
  info: { main: "#86b7ff" },
  warning: { main: "#f0b257" },
  error: { main: "#ff8f85" },
  background: { default: "#0f1319", paper: "#161b23" },
  text: { primary: "#dde4ed", secondary: "#9aa7b6" },
  divider: "#2a323d",
  code: { inline: "#232b36", block: "#11161d", name: "#86b7ff", string: "#5fd0ad", number: "#d3a6f0", keyword: "#ff9d94" },
  mark: { words: "#6b5200", line: "#2b2615", edge: "#f0b257" },
};

export const theme = createTheme({
  cssVariables: { colorSchemeSelector: "data-theme" },
  colorSchemes: { light: { palette: light }, dark: { palette: dark } },
  shape: { borderRadius: 6 },
  typography: {
    fontFamily: SANS,
    fontSize: 14,
    body1: { fontSize: "0.92rem" },
    h1: { fontSize: "1.35rem", fontWeight: 650, lineHeight: 1.3 },
    h2: { fontSize: "0.95rem", fontWeight: 650, lineHeight: 1.4 },
    h3: { fontSize: "0.9rem", fontWeight: 650, lineHeight: 1.4 },
    button: { textTransform: "none", fontWeight: 600 },
    caption: { fontSize: "0.78rem" },
  },
  transitions: { create: () => "none" },
  components: {
    MuiButtonBase: { defaultProps: { disableRipple: true } },
    MuiInputBase: {
      styleOverrides: { root: { fontSize: "0.875rem" }, input: { "&::placeholder": { color: "var(--mui-palette-text-secondary)", opacity: 1 } } },
    },
    MuiFormControlLabel: { styleOverrides: { label: { fontSize: "0.875rem" } } },
    MuiMenuItem: { styleOverrides: { root: { fontSize: "0.875rem" } } },
    MuiButton: { defaultProps: { disableElevation: true } },
    // The selected button must stand out in both schemes.
    MuiToggleButton: { styleOverrides: { root: { color: "var(--mui-palette-text-secondary)", textTransform: "none" } } },
    MuiPaper: { styleOverrides: { root: { backgroundImage: "none" } } },
    // `gap` instead of margins: MUI's sibling selectors make the browser recalculate styles of the whole page for every new element.
    MuiStack: { defaultProps: { useFlexGap: true } },
  },
});

// Used instead of MUI's CssBaseline, whose rule for `*::before, *::after` makes the browser compute two more styles per element: two thirds of
// the cost of scrolling rows into view.
const styles = ({ palette, typography }: Theme) => ({
  html: { WebkitFontSmoothing: "antialiased", MozOsxFontSmoothing: "grayscale", WebkitTextSizeAdjust: "100%" },
  "*": { boxSizing: "border-box" as const },
  "strong, b": { fontWeight: typography.fontWeightBold },
  body: { ...typography.body1, margin: 0, overflowY: "scroll" as const, color: "var(--mui-palette-text-primary)", backgroundColor: "var(--mui-palette-background-default)" },
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
