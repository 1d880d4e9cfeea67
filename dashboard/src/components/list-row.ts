/** A row of a list that is a link as a whole. */

export const LIST_ROW = {
  position: "relative",
  display: "grid",
  columnGap: 2,
  rowGap: 0.25,
  alignItems: "center",
  px: 2,
  py: 1.1,
  borderTop: 1,
  borderColor: "divider",
  "&:hover": { bgcolor: "action.hover" },
  "&:focus-within": { bgcolor: "action.selected" },
} as const;

/** The link's area is the whole row; its text is the title. */
export const ROW_LINK = {
  minWidth: 0,
  color: "text.primary",
  textDecoration: "none",
  fontWeight: 600,
  "&::after": { content: '""', position: "absolute", inset: 0 },
  "&:focus-visible": { outline: "none" },
  "&:focus-visible::after": { outline: "2px solid", outlineColor: "primary.main", outlineOffset: -2 },
} as const;

/** Moves the focus along the rows of a list: Enter and every screen reader do the rest. */
export function moveRowFocus(list: HTMLElement | null, by: 1 | -1): void {
  const links = [...(list?.querySelectorAll<HTMLElement>("[data-row-link]") ?? [])];
  const at = links.findIndex((link) => link === document.activeElement);
  const next = at === -1 ? 0 : Math.min(links.length - 1, Math.max(0, at + by));
  links[next]?.focus();
  links[next]?.scrollIntoView({ block: "nearest" });
}
