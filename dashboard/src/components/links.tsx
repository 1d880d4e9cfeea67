/** MUI's looks with the router's navigation. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import MuiLink from "@mui/material/Link";
import type { SystemStyleObject } from "@mui/system";
import type { Theme } from "@mui/material/styles";
import { createLink } from "@tanstack/react-router";
import type { ComponentProps } from "react";

export const LinkButton = createLink(Button);
export const TextLink = createLink(MuiLink);

function BareAnchor({ sx, ...props }: ComponentProps<"a"> & { sx?: SystemStyleObject<Theme> }) {
  return <Box component="a" sx={sx ?? {}} {...props} />;
}
export const BareLink = createLink(BareAnchor);
