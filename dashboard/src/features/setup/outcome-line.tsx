/** What became of a step: it works and is in force, or what to do about it. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import { plural } from "@/components/format";
import { MONO } from "@/components/text-styles";
import type { SetupOutcome } from "@/wire/types";

export function OutcomeLine({ outcome }: { outcome: SetupOutcome }) {
  const words = outcome.ok ? "It works, and is in use from now on." : "It does not work yet.";
  return (
    <Alert severity={outcome.ok ? "success" : "error"} variant="outlined" sx={{ overflowWrap: "anywhere", whiteSpace: "pre-line" }}>
      <strong>{words}</strong> {outcome.message}
      {outcome.cure !== "" && `\nTo put it right: ${outcome.cure}.`}
      {outcome.tools.length > 0 && (
        <Box component="details">
          <summary>Names of the {plural(outcome.tools.length, "tool")}</summary>
          <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.8rem" }}>
            {outcome.tools.join(", ")}
          </Box>
        </Box>
      )}
      {outcome.written.map((line) => (
        <div key={line}>Written to {line}</div>
      ))}
    </Alert>
  );
}
