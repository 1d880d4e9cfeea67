/** Where a stage begins in the timeline. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { use } from "react";
import { Badge } from "@/components/badge";
import { MONO } from "@/components/text-styles";
import { formatCount } from "@/components/format";
import { Elapsed } from "@/components/times";
import { plannedAgents } from "@/presentation/agent-tree";
import { RunFacesContext } from "@/presentation/run-faces";
import { reasonBeside } from "@/presentation/statuses";
import type { StageView } from "@/wire/types";

export function StageHeader({ stage }: { stage: StageView }) {
  const face = use(RunFacesContext)[stage.status];
  const reason = reasonBeside(face, stage.error_message);
  const planned = plannedAgents(stage);
  const alone = planned.length === 1 ? planned[0] : undefined;
  return (
    <Box sx={{ display: "flex", alignItems: "center", flexWrap: "wrap", columnGap: 1.5, px: 2, py: 1, mt: 0.5, borderTop: 1, borderBottom: 1, borderColor: "divider", bgcolor: "code.block", "[data-index=\"0\"] > &": { mt: 0, borderTop: 0 } }}>
      <Typography variant="h3">{stage.stage_name}</Typography>
      <Typography variant="body2" component="span">
        <Badge face={face} />
      </Typography>
      <Typography variant="caption" color="textSecondary" sx={{ flex: 1 }}>
        {stage.started_at && <Elapsed since={stage.started_at} until={stage.completed_at} />}
        {alone && (
          <>
            {" · "}
            {alone.agent_name}
            {" · "}
            <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.72rem" }}>
              {alone.model_name}
            </Box>
            {alone.usage.total_tokens > 0 && ` · ${formatCount(alone.usage.total_tokens)} tokens`}
          </>
        )}
      </Typography>
      {reason && (
        <Typography variant="body2" color="error" sx={{ width: "100%", overflowWrap: "anywhere" }}>
          {reason}
        </Typography>
      )}
    </Box>
  );
}
