/** The stages of a session as a small graph; parallel agents are branches. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import Typography from "@mui/material/Typography";
import { memo, use, useState } from "react";
import type { Face } from "@/components/badge";
import { FaceIcon } from "@/components/badge";
import { plural } from "@/components/format";
import { Spoken } from "@/components/spoken";
import { Elapsed } from "@/components/times";
import { RunFacesContext } from "@/presentation/run-faces";
import type { RunStatus } from "@/wire/types";
import type { Branch, GraphNode } from "./stage-graph";

interface StageGraphProps {
  nodes: readonly GraphNode[];
  /** The session is over: what has not begun never will. */
  ended: boolean;
  onStage: (stageId: string) => void;
  /** Show an agent of a stage: one that was sent, at the call that sent it. */
  onAgent: (stageId: string, executionId: string) => void;
}

export const StageGraphView = memo(function StageGraphView({ nodes, ...rest }: StageGraphProps) {
  return (
    <Box component="ol" aria-label="Stages" sx={{ display: "flex", alignItems: "center", flexWrap: "wrap", rowGap: 1, columnGap: { xs: 1, sm: 0 }, listStyle: "none", m: 0, p: 0 }}>
      {nodes.map((node, index) => (
        <Box component="li" key={node.key} sx={{ display: "flex", alignItems: "center" }}>
          {index > 0 && <Box aria-hidden sx={{ display: { xs: "none", sm: "block" }, width: 24, height: "2px", bgcolor: node.stage ? "text.secondary" : "divider" }} />}
          <Node node={node} {...rest} />
        </Box>
      ))}
    </Box>
  );
});

function useFace(status: RunStatus, ended: boolean): Face {
  const face = use(RunFacesContext)[status];
  return status === "pending" && ended ? { ...face, label: "Not reached" } : face;
}

type NodeProps = Omit<StageGraphProps, "nodes"> & { node: GraphNode };

function Node({ node, ended, onStage, onAgent }: NodeProps) {
  const { stage } = node;
  const face = useFace(node.status, ended);
  return (
    <Box sx={{ border: 1, borderStyle: stage ? "solid" : "dashed", borderColor: node.status === "active" ? "info.main" : "divider", borderRadius: 1, bgcolor: "background.paper", overflow: "hidden" }}>
      <ButtonBase disabled={!stage} onClick={() => stage && onStage(stage.id)} sx={{ display: "flex", width: "100%", justifyContent: "flex-start", textAlign: "left", alignItems: "center", gap: 0.75, px: 1.25, py: 0.5, ...HOVER }}>
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
      </ButtonBase>
      {node.branches.length > 0 && <Branches {...{ node, ended, onAgent }} />}
    </Box>
  );
}

const HOVER = { "&:hover": { bgcolor: "action.hover" } };

function Branches({ node, ended, onAgent }: Omit<NodeProps, "onStage">) {
  const [folded, setFolded] = useState(false);
  const sent = node.branches.filter((branch) => branch.sent).length;
  return (
    <Box sx={{ mb: 0.5, ml: 2, mr: 0.5, borderLeft: 2, borderColor: "divider" }}>
      <Box component="ul" aria-label={`Agents of ${node.name}`} sx={{ display: "grid", listStyle: "none", m: 0, p: 0 }}>
        {node.branches
          .filter((branch) => !branch.sent || !folded)
          .map((branch) => (
            <li key={branch.key}>
              <BranchButton branch={branch} ended={ended} onClick={node.stage && branch.execution !== null ? () => onAgent(node.stage?.id ?? "", branch.execution ?? "") : undefined} />
            </li>
          ))}
      </Box>
      {sent > 0 && (
        <ButtonBase aria-expanded={!folded} onClick={() => setFolded(!folded)} sx={{ ml: 1.25, px: 0.5, minHeight: 24, borderRadius: 0.5, ...HOVER }}>
          <Typography component="span" variant="caption" color="textSecondary" sx={{ textDecoration: "underline" }}>
            {folded ? `Show the ${plural(sent, "agent")} that ${sent === 1 ? "was" : "were"} sent` : "Hide those that were sent"}
          </Typography>
        </ButtonBase>
      )}
    </Box>
  );
}

function BranchButton({ branch, ended, onClick }: { branch: Branch; ended: boolean; onClick: (() => void) | undefined }) {
  const face = useFace(branch.status, ended);
  return (
    <ButtonBase disabled={!onClick} onClick={onClick} title={branch.task ?? undefined} sx={{ display: "flex", width: "100%", justifyContent: "flex-start", gap: 0.75, minHeight: 24, pl: branch.sent ? 2 : 0, pr: 0.75, borderRadius: 0.5, ...HOVER }}>
      <Box component="span" aria-hidden sx={{ width: 8, height: "2px", bgcolor: "divider" }} />
      <FaceIcon face={face} size={13} />
      <Typography component="span" variant="caption" color="textSecondary">
        {branch.name}
        <Spoken>{`${branch.sent ? "sent by the agent above, " : ""}${face.label}`}</Spoken>
      </Typography>
    </ButtonBase>
  );
}
