/** Links of the router with the style of MUI, and list rows that are links as a whole. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import MuiLink from "@mui/material/Link";
import type { Theme } from "@mui/material/styles";
import type { SystemStyleObject } from "@mui/system";
import { createLink } from "@tanstack/react-router";
import type { ComponentProps } from "react";

export const LinkButton = createLink(Button);
export const TextLink = createLink(MuiLink);

function BareAnchor({ sx, ...props }: ComponentProps<"a"> & { sx?: SystemStyleObject<Theme> }) {
  return <Box component="a" sx={sx ?? {}} {...props} />;
}
export const BareLink = createLink(BareAnchor);

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
  // The browser skips layout and painting of rows that are not visible.
  contentVisibility: "auto",
  containIntrinsicSize: "auto 62px",
  "&:hover": { bgcolor: "action.hover" },
  "&:focus-within": { bgcolor: "action.selected" },
} as const;

/** The clickable area is the whole row; the text of the link is the title. */
export const ROW_LINK = {
  minWidth: 0,
  color: "text.primary",
  textDecoration: "none",
  fontWeight: 600,
  "&::after": { content: '""', position: "absolute", inset: 0 },
  "&:focus-visible": { outline: "none" },
  "&:focus-visible::after": { outline: "2px solid", outlineColor: "primary.main", outlineOffset: -2 },
} as const;

/** Moves the focus to the next or previous row of a list. */
export function moveRowFocus(list: HTMLElement | null, by: 1 | -1): void {
  const links = [...(list?.querySelectorAll<HTMLElement>("[data-row-link]") ?? [])];
  // The focus may be on another control of the row.
  const at = links.findIndex((link) => link.closest("li")?.contains(document.activeElement));
  const next = at === -1 ? 0 : Math.min(links.length - 1, Math.max(0, at + by));
  links[next]?.focus();
  links[next]?.scrollIntoView({ block: "nearest" });
}
