/** Words for those who cannot see the icon or the colour beside them. */
import Box from "@mui/material/Box";

const UNSEEN = { position: "absolute", width: "1px", height: "1px", overflow: "hidden", clipPath: "inset(50%)", whiteSpace: "nowrap" } as const;

export function Spoken({ children }: { children: string }) {
  return (
    <Box component="span" sx={UNSEEN}>
      {children}
    </Box>
  );
}
