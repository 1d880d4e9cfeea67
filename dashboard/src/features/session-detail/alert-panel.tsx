/** The alert of a session. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import MuiLink from "@mui/material/Link";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { memo, useMemo, useState } from "react";
import { DataLine } from "@/components/data-line";
import { DataView } from "@/components/data-view";
import { Section } from "@/components/section";
import type { FieldGroup } from "@/components/structured-text";
import { fieldsOf, incidentFields } from "@/components/structured-text";
import { MONO } from "@/components/text-styles";
import { useFolding } from "@/presentation/entry-frame";
import { formatSelection } from "@/presentation/tool-lines";
import type { SessionDetail } from "@/wire/types";

// Above a chat there is less room.
const HEIGHT_PX = { brief: 150, whole: 440 };

/** `brief`: it shares its column with the chat. `folded`: start with the title only. */
export const AlertPanel = memo(function AlertPanel({ session, brief = false, folded = false }: { session: SessionDetail; brief?: boolean; folded?: boolean }) {
  const [raw, setRaw] = useState(false);
  const { open, onToggle } = useFolding(!folded);
  const { alert_data: text, incident_id: incident } = session;
  const fields = useMemo(() => (incident === null ? fieldsOf(text) : incidentFields(text)), [text, incident]);
  const maxHeight = brief ? HEIGHT_PX.brief : HEIGHT_PX.whole;
  return (
    <Section
      title="Alert"
      folded={!open}
      actions={
        <>
          {fields && open && (
            <Button size="small" aria-pressed={raw} onClick={() => setRaw(!raw)}>
              {raw ? "Show table" : incident === null ? "Show JSON" : "Show text"}
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
        {fields && !raw ? <FieldTable fields={fields} maxHeight={maxHeight} /> : <DataView text={text} label="Alert" links maxHeight={maxHeight} />}
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

const CELL = { py: 0.4, px: 0, textAlign: "left", verticalAlign: "top", fontWeight: 400, overflowWrap: "anywhere" } as const;

/** The fields of a structured alert. Web addresses are links. */
function FieldTable({ fields, maxHeight }: { fields: readonly FieldGroup[]; maxHeight: number }) {
  return (
    <Box role="region" aria-label="Fields of the alert" tabIndex={0} sx={{ maxHeight, overflowY: "auto" }}>
      <Box component="table" sx={{ width: "100%", borderCollapse: "collapse", fontSize: "0.8125rem", "& a": { color: "primary.main" } }}>
        {fields.map(({ name: group, fields: rows }, index) => (
          <tbody key={index}>
            {group !== "" && (
              <tr>
                <Box component="th" scope="rowgroup" colSpan={2} sx={{ ...CELL, pt: 1, fontWeight: 650 }}>
                  {group}
                </Box>
              </tr>
            )}
            {rows.map(({ name, value }, row) => (
              <tr key={row}>
                <Box component="th" scope="row" sx={{ ...CELL, pr: 1.5, width: "34%", color: "text.secondary" }}>
                  {name}
                </Box>
                <Box component="td" sx={{ ...CELL, fontFamily: MONO, fontSize: "0.78rem", whiteSpace: "pre-wrap" }}>
                  <DataLine text={value} format="text" tokensOf={null} links />
                </Box>
              </tr>
            ))}
          </tbody>
        ))}
      </Box>
    </Box>
  );
}
