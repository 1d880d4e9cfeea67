/** The header of a session: status, title, actions and facts. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Menu from "@mui/material/Menu";
import MenuItem from "@mui/material/MenuItem";
import Typography from "@mui/material/Typography";
import { Ban, Download, GitCompare, ListTree, RotateCcw } from "lucide-react";
import { memo, useId, useState } from "react";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { formatCeiling, formatCost, formatCount } from "@/components/format";
import { LinkButton, TextLink } from "@/components/links";
import { Fact } from "@/components/section";
import { clamped, MONO } from "@/components/text-styles";
import { Elapsed, RelativeTime } from "@/components/times";
import { Allowed } from "@/presentation/allowed";
import { describeForkPoint } from "@/presentation/forks";
import { RecordedMark } from "@/presentation/recorded";
import { StatusBadge } from "@/presentation/session-status";
import { hasEnded } from "@/presentation/statuses";
import { WatchButton } from "@/presentation/watched-sessions";
import type { SessionDetail } from "@/wire/types";

export const Header = memo(function Header({ session, onCancel }: { session: SessionDetail; onCancel: () => void }) {
  return (
    <Box sx={{ position: { sm: "sticky" }, "@media print": { position: "static" }, top: 0, zIndex: 4, bgcolor: "background.default", display: "flex", alignItems: "center", flexWrap: "wrap", columnGap: 2, rowGap: 0.5, py: 1, borderBottom: 1, borderColor: "divider" }}>
      <Typography component="div" role="status" data-testid="session-status" data-status={session.status}>
        <StatusBadge session={session} />
      </Typography>
      <Typography variant="h1" sx={{ ...clamped({ xs: 3, sm: 2, md: 1 }), flex: "1 1 260px", fontSize: { xs: "1.15rem", sm: "1.35rem" } }} title={session.title}>
        {session.title}
      </Typography>
      <Actions session={session} onCancel={onCancel} />
    </Box>
  );
});

export const Facts = memo(function Facts({ session }: { session: SessionDetail }) {
  const models = [...new Set(session.stages.flatMap((stage) => stage.executions.map((execution) => execution.model_name)))];
  const { usage } = session;
  const cost = formatCost(session.cost);
  const tokens = `${usage.input_tokens.toLocaleString()} in, ${usage.output_tokens.toLocaleString()} out, ${usage.thinking_tokens.toLocaleString()} thinking, ${usage.cached_tokens.toLocaleString()} cached`;
  return (
    <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: { xs: 2.5, sm: 4 }, rowGap: 1, m: 0 }}>
      {session.incident_id && (
        <Fact name="Incident">
          <TextLink to="/incidents/$incidentId" params={{ incidentId: session.incident_id }}>
            back to the incident
          </TextLink>
        </Fact>
      )}
      {session.fork && (
        <Fact name="Forked">
          from {describeForkPoint(session.fork)} in{" "}
          <TextLink to="/sessions/$sessionId" params={{ sessionId: session.fork.session_id }} search={{}}>
            another session
          </TextLink>
        </Fact>
      )}
      <Fact name="Alert type">
        <TextLink to="/sessions" search={{ type: session.alert_type }}>
          {session.alert_type}
        </TextLink>
      </Fact>
      <Fact name="Chain">{session.chain_id}</Fact>
      <Fact name="Submitted">
        <RelativeTime at={session.created_at} /> by {session.author}
      </Fact>
      {session.queue_position !== null && <Fact name="Queue">position {session.queue_position}</Fact>}
      {session.started_at && (
        <Fact name="Duration">
          <Elapsed since={session.started_at} until={hasEnded(session.status) ? (session.completed_at ?? session.started_at) : null} />
        </Fact>
      )}
      <Fact name="Tokens">
        <span title={tokens}>{formatCount(usage.total_tokens)}</span>
      </Fact>
      {cost !== null && (
        <Fact name="Cost">
          <span title={session.cost.estimated_calls > 0 ? "Answers that TARSy cut off are in it by an estimate of their tokens" : undefined}>{cost}</span>
        </Fact>
      )}
      {session.budget !== null && <Fact name="Ceiling">{formatCeiling(session.budget)}</Fact>}
      {session.recorded ? (
        <Fact name="Model">
          <RecordedMark />
        </Fact>
      ) : (
        models.length > 0 && (
          <Fact name={models.length === 1 ? "Model" : "Models"}>
            <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.8rem" }}>
              {models.join(", ")}
            </Box>
          </Fact>
        )
      )}
      {session.recoveries > 0 && <Fact name="Resumed">{session.recoveries} × after a restart</Fact>}
    </Box>
  );
});

function Actions({ session, onCancel }: { session: SessionDetail; onCancel: () => void }) {
  const [dialogOpen, setDialogOpen] = useState(false);
  const ended = hasEnded(session.status);
  return (
    <Box sx={{ display: "flex", displayPrint: "none", flexWrap: "wrap", gap: 0.5 }}>
      {!ended && <WatchButton sessionId={session.id} />}
      <LinkButton size="small" color="inherit" startIcon={<ListTree size={15} />} to="/sessions/$sessionId/trace" params={{ sessionId: session.id }}>
        Trace
      </LinkButton>
      <Allowed operation="submitAlert">
        <LinkButton size="small" color="inherit" startIcon={<RotateCcw size={15} />} to="/alerts/new" search={{ from: session.id }}>
          Resubmit
        </LinkButton>
      </Allowed>
      {ended && (
        <LinkButton size="small" color="inherit" startIcon={<GitCompare size={15} />} to="/sessions/$sessionId/compare" params={{ sessionId: session.id }} search={session.fork ? { with: session.fork.session_id } : {}}>
          Compare
        </LinkButton>
      )}
      {ended && <ReportMenu sessionId={session.id} />}
      {!ended && (
        <Allowed operation="cancelSession">
          <Button size="small" color="error" variant="outlined" startIcon={<Ban size={15} />} disabled={session.status === "cancelling"} onClick={() => setDialogOpen(true)}>
            {session.status === "cancelling" ? "Cancelling…" : "Cancel"}
          </Button>
        </Allowed>
      )}
      {dialogOpen && !ended && (
        <ConfirmDialog
          title="Cancel this session?"
          text="The investigation stops. What has been found so far is kept."
          cancelLabel="Keep it running"
          onClose={() => setDialogOpen(false)}
          actions={
            <Button
              color="error"
              variant="contained"
              onClick={() => {
                setDialogOpen(false);
                onCancel();
              }}
            >
              Cancel the session
            </Button>
          }
        />
      )}
    </Box>
  );
}

const REPORT_FILES = {
  "HTML, with every cited result": "report?format=html",
  Markdown: "report?format=md",
  "Recording, to be replayed": "recording",
} as const;

function ReportMenu({ sessionId }: { sessionId: string }) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const menu = useId();
  const close = () => setAnchor(null);
  return (
    <>
      <Button size="small" color="inherit" startIcon={<Download size={15} />} aria-haspopup="menu" aria-expanded={anchor !== null} aria-controls={anchor ? menu : undefined} onClick={(event) => setAnchor(event.currentTarget)}>
        Report
      </Button>
      <Menu id={menu} anchorEl={anchor} open={anchor !== null} onClose={close}>
        {Object.entries(REPORT_FILES).map(([label, file]) => (
          <MenuItem key={file} component="a" href={`/api/v1/sessions/${sessionId}/${file}`} download onClick={close}>
            {label}
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}
