/** A sentence in which backticks stand around what is typed or written to a file. */
import Box from "@mui/material/Box";
import { MONO } from "./text-styles";

export function WithCode({ text }: { text: string }) {
  // Every second part stood between two of them; one alone is a backtick.
  const parts = text.split("`");
  if (parts.length % 2 === 0) return text;
  return parts.map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <Box key={index} component="code" sx={{ fontFamily: MONO, fontSize: "0.85em", bgcolor: "code.inline", borderRadius: 0.5, px: 0.5 }}>
        {part}
      </Box>
    ),
  );
}
