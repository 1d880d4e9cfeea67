/** A block of code in running text, with a button that copies it. */
import Box from "@mui/material/Box";
import type { ReactNode } from "react";
import { useRef } from "react";
import { CopyIcon } from "./copy-button";

const COPY = {
  position: "absolute",
  top: 4,
  right: 4,
  bgcolor: "background.paper",
  borderRadius: 1,
  opacity: 0,
  "*:hover > &, *:focus-within > &": { opacity: 1 },
  "@media (hover: none)": { opacity: 1 },
} as const;

export function CodeBlock({ children }: { children: ReactNode }) {
  const code = useRef<HTMLPreElement>(null);
  return (
    <Box className="code-block" sx={{ position: "relative" }}>
      {/* Wide code scrolls sideways, and what scrolls must be reachable by keyboard. */}
      <pre ref={code} tabIndex={0}>
        {children}
      </pre>
      <Box sx={COPY}>
        <CopyIcon text={() => code.current?.textContent.trimEnd() ?? ""} label="Copy this code" />
      </Box>
    </Box>
  );
}
