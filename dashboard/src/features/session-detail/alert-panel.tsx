/** The alert of a session. */
import Button from "@mui/material/Button";
import MuiLink from "@mui/material/Link";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { memo, useState } from "react";
import { DataView } from "@/components/data-view";
import { Section } from "@/components/section";
import { readable } from "@/components/structured-text";
import { useFolding } from "@/presentation/entry-frame";
import { formatSelection } from "@/presentation/tool-lines";
import type { SessionDetail } from "@/wire/types";

// Above a chat there is less room.
const HEIGHT_PX = { brief: 150, whole: 440 };

/** `brief`: it shares its column with the chat. `folded`: start with the title only. */
export const AlertPanel = memo(function AlertPanel({ session, brief = false, folded = false }: { session: SessionDetail; brief?: boolean; folded?: boolean }) {
  const [raw, setRaw] = useState(false);
  const { open, onToggle } = useFolding(!folded);
  const structured = readable(session.alert_data).format !== "text";
  return (
    <Section
      title="Alert"
      folded={!open}
      actions={
        <>
          {structured && open && (
            <Button size="small" aria-pressed={raw} onClick={() => setRaw(!raw)}>
              {raw ? "Show formatted" : "Show raw"}
            </Button>
          )}
          {brief && (
            <Button size="small" aria-expanded={open} onClick={onToggle}>
              {open ? "Hide" : "Show"}
            </Button>
          )}
        </>
      }
    >
      <Stack spacing={1.5}>
        <DataView text={session.alert_data} label="Alert" raw={raw} links maxHeight={brief ? HEIGHT_PX.brief : HEIGHT_PX.whole} />
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
            Tools were chosen for this session: {formatSelection(session.mcp_selection)}
          </Typography>
        )}
      </Stack>
    </Section>
  );
});
