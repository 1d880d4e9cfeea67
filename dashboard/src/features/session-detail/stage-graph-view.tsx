/** The stages of a session as a small graph; parallel agents are branches. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import Typography from "@mui/material/Typography";
import { memo } from "react";
import type { Face } from "@/components/badge";
import { FaceIcon } from "@/components/badge";
import { Spoken } from "@/components/spoken";
import { Elapsed } from "@/components/times";
import { RUN_FACES } from "@/presentation/statuses";
import type { RunStatus } from "@/wire/types";
import type { GraphNode } from "./stage-graph";

interface StageGraphProps {
  nodes: readonly GraphNode[];
  /** The session is over: what has not begun never will. */
  ended: boolean;
  onStage: (stageId: string) => void;
}

export const StageGraphView = memo(function StageGraphView({ nodes, ended, onStage }: StageGraphProps) {
  return (
    <Box component="ol" aria-label="Stages" sx={{ display: "flex", alignItems: "center", flexWrap: "wrap", rowGap: 1, columnGap: { xs: 1, sm: 0 }, listStyle: "none", m: 0, p: 0 }}>
      {nodes.map((node, index) => (
        <Box component="li" key={node.key} sx={{ display: "flex", alignItems: "center" }}>
          {index > 0 && <Box aria-hidden sx={{ display: { xs: "none", sm: "block" }, width: 24, height: "2px", bgcolor: node.stage ? "text.secondary" : "divider" }} />}
          <Node node={node} ended={ended} onStage={onStage} />
        </Box>
      ))}
    </Box>
  );
});

function faceOf(status: RunStatus, ended: boolean): Face {
  return status === "pending" && ended ? { ...RUN_FACES.pending, label: "Not reached" } : RUN_FACES[status];
}

function Node({ node, ended, onStage }: { node: GraphNode; ended: boolean; onStage: (stageId: string) => void }) {
  const { stage } = node;
  const face = faceOf(node.status, ended);
  return (
    <ButtonBase
      disabled={!stage}
      onClick={() => stage && onStage(stage.id)}
      sx={{
        display: "block",
        textAlign: "left",
        border: 1,
        borderStyle: stage ? "solid" : "dashed",
        borderColor: node.status === "active" ? "info.main" : "divider",
        borderRadius: 1,
        px: 1.25,
        py: 0.5,
        bgcolor: "background.paper",
        "&:hover": { bgcolor: "action.hover" },
      }}
    >
      <Box sx={{ display: "flex", alignItems: "center", gap: 0.75 }}>
        <FaceIcon face={face} size={15} />
        <Typography component="span" variant="body2" sx={{ fontWeight: 600, color: stage ? "text.primary" : "text.secondary" }}>
          {node.name}
          <Spoken>{face.label}</Spoken>
        </Typography>
        {stage?.started_at && (
          <Typography component="span" variant="caption" color="textSecondary">
            <Elapsed since={stage.started_at} until={stage.completed_at} />
          </Typography>
        )}
      </Box>
      {node.branches.length > 0 && (
        <Box component="span" sx={{ display: "grid", mt: 0.5, pl: 0.75, borderLeft: 2, borderColor: "divider", gap: "1px" }}>
          {node.branches.map((branch) => (
            <Box component="span" key={branch.key} sx={{ display: "flex", alignItems: "center", gap: 0.75, ml: branch.sent ? 2 : 0 }}>
              <Box component="span" aria-hidden sx={{ width: 8, height: "2px", bgcolor: "divider", ml: -0.75 }} />
              <FaceIcon face={faceOf(branch.status, ended)} size={13} />
              <Typography component="span" variant="caption" color="textSecondary">
                {branch.name}
                <Spoken>{`${branch.sent ? "sent by the agent above, " : ""}${faceOf(branch.status, ended).label}`}</Spoken>
              </Typography>
            </Box>
          ))}
        </Box>
      )}
    </ButtonBase>
  );
}
