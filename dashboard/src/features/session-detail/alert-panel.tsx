/** The alert as it came in. */
import Button from "@mui/material/Button";
import MuiLink from "@mui/material/Link";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { memo, useState } from "react";
import { DataView } from "@/components/data-view";
import { readable } from "@/components/structured-text";
import { Section } from "@/components/section";
import { selectionLine } from "@/presentation/tool-lines";
import type { SessionDetail } from "@/wire/types";

export const AlertPanel = memo(function AlertPanel({ session }: { session: SessionDetail }) {
  const [raw, setRaw] = useState(false);
  const structured = readable(session.alert_data).format !== "text";
  return (
    <Section
      title="Alert"
      actions={
        structured && (
          <Button size="small" aria-pressed={raw} onClick={() => setRaw(!raw)}>
            {raw ? "Show formatted" : "Show raw"}
          </Button>
        )
      }
    >
      <Stack spacing={1.5}>
        <DataView text={session.alert_data} label="Alert" raw={raw} maxHeight={440} />
        {session.runbook_url && (
          <Typography variant="body2" sx={{ overflowWrap: "anywhere" }}>
            Runbook:{" "}
            <MuiLink href={session.runbook_url} target="_blank" rel="noreferrer noopener">
              {session.runbook_url}
            </MuiLink>
          </Typography>
        )}
        {session.mcp_selection && (
          <Typography variant="body2" color="textSecondary" sx={{ overflowWrap: "anywhere" }}>
            Tools were chosen for this session: {selectionLine(session.mcp_selection)}
          </Typography>
        )}
      </Stack>
    </Section>
  );
});
