/** Who, what, how long, how much; and what can be done about it. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogContentText from "@mui/material/DialogContentText";
import DialogTitle from "@mui/material/DialogTitle";
import Typography from "@mui/material/Typography";
import { Ban, GitCompare, ListTree, RotateCcw } from "lucide-react";
import { memo, useState } from "react";
import { Badge } from "@/components/badge";
import { MONO, clamped } from "@/components/text-styles";
import { formatCost, formatCount } from "@/components/format";
import { formatCeiling } from "@/presentation/ceiling";
import { LinkButton, TextLink } from "@/components/links";
import { Fact } from "@/components/section";
import { Elapsed, RelativeTime } from "@/components/times";
import { forkedStep } from "@/presentation/fork-place";
import { RecordedMark } from "@/presentation/recorded";
import { hasEnded, SESSION_FACES } from "@/presentation/statuses";
import { WatchButton } from "@/presentation/watch-button";
import type { SessionDetail } from "@/wire/types";
import { ReportMenu } from "./report-menu";

export const Header = memo(function Header({ session, onCancel }: { session: SessionDetail; onCancel: () => void }) {
  return (
    <>
      <Box sx={{ position: { sm: "sticky" }, top: 0, zIndex: 4, bgcolor: "background.default", display: "flex", alignItems: "center", flexWrap: "wrap", columnGap: 2, rowGap: 0.5, py: 1, borderBottom: 1, borderColor: "divider" }}>
        <Typography component="div" role="status" data-testid="session-status">
          <Badge face={SESSION_FACES[session.status]} />
        </Typography>
        <Typography variant="h1" sx={{ ...clamped({ xs: 3, sm: 1 }), flex: "1 1 260px", fontSize: { xs: "1.15rem", sm: "1.35rem" } }} title={session.title}>
          {session.title}
        </Typography>
        <Actions session={session} onCancel={onCancel} />
      </Box>
      <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: { xs: 2.5, sm: 4 }, rowGap: 1, m: 0 }}>
        <Facts session={session} />
      </Box>
    </>
  );
});

function Facts({ session }: { session: SessionDetail }) {
  const models = [...new Set(session.stages.flatMap((stage) => stage.executions.map((execution) => execution.model_name)))];
  const { usage } = session;
  const cost = formatCost(session.cost);
  const tokens = `${usage.input_tokens.toLocaleString()} in, ${usage.output_tokens.toLocaleString()} out, ${usage.thinking_tokens.toLocaleString()} thinking, ${usage.cached_tokens.toLocaleString()} cached`;
  return (
    <>
      {session.incident_id && (
        <Fact name="Incident">
          <TextLink to="/incidents/$incidentId" params={{ incidentId: session.incident_id }}>
            back to the incident
          </TextLink>
        </Fact>
      )}
      {session.fork && (
        <Fact name="Forked">
          from {forkedStep(session.fork)} in{" "}
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
      {cost !== null && <Fact name="Cost">{cost}</Fact>}
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
    </>
  );
}

function Actions({ session, onCancel }: { session: SessionDetail; onCancel: () => void }) {
  const [asking, setAsking] = useState(false);
  const ended = hasEnded(session.status);
  const confirm = () => {
    setAsking(false);
    onCancel();
  };
  return (
    <Box sx={{ display: "flex", flexWrap: "wrap", gap: 0.5 }}>
      {!ended && <WatchButton sessionId={session.id} />}
      <LinkButton size="small" color="inherit" startIcon={<ListTree size={15} />} to="/sessions/$sessionId/trace" params={{ sessionId: session.id }}>
        Trace
      </LinkButton>
      <LinkButton size="small" color="inherit" startIcon={<RotateCcw size={15} />} to="/alerts/new" search={{ from: session.id }}>
        Resubmit
      </LinkButton>
      {ended && (
        <LinkButton size="small" color="inherit" startIcon={<GitCompare size={15} />} to="/sessions/$sessionId/compare" params={{ sessionId: session.id }} search={session.fork ? { with: session.fork.session_id } : {}}>
          Compare
        </LinkButton>
      )}
      {ended && <ReportMenu sessionId={session.id} />}
      {!ended && (
        <Button size="small" color="error" variant="outlined" startIcon={<Ban size={15} />} disabled={session.status === "cancelling"} onClick={() => setAsking(true)}>
          {session.status === "cancelling" ? "Cancelling…" : "Cancel"}
        </Button>
      )}
      <Dialog open={asking && !ended} onClose={() => setAsking(false)}>
        <DialogTitle>Cancel this session?</DialogTitle>
        <DialogContent>
          <DialogContentText>The investigation stops. What has been found so far is kept.</DialogContentText>
        </DialogContent>
        <DialogActions>
          <Button onClick={() => setAsking(false)}>Keep it running</Button>
          <Button color="error" variant="contained" onClick={confirm}>
            Cancel the session
          </Button>
        </DialogActions>
      </Dialog>
    </Box>
  );
}
