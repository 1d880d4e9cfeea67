/** The graph of a session's stages, started and planned; parallel agents are branches. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import Typography from "@mui/material/Typography";
import { memo, use, useState } from "react";
import type { BadgeStyle } from "@/components/badge";
import { BadgeIcon, VisuallyHidden } from "@/components/badge";
import { plural } from "@/components/format";
import { Elapsed } from "@/components/times";
import { RunBadgesContext } from "@/presentation/statuses";
import { isSubAgent } from "@/presentation/timeline-rows";
import type { PlannedStage, RunStatus, SessionDetail, StageView } from "@/wire/types";

interface GraphNode {
  key: string;
  name: string;
  /** Null for a stage that has not started. */
  stage: StageView | null;
  status: RunStatus;
  branches: readonly Branch[];
}
interface Branch {
  key: string;
  name: string;
  status: RunStatus;
  /** Whether it is a sub-agent of the agent above, and its task. */
  isSubAgent: boolean;
  task: string | null;
  /** Null for an agent that has not started. */
  execution: string | null;
}

// The name of the stage once it has started.
const SUMMARY = "executive summary";

export function stageGraph(session: Pick<SessionDetail, "planned_stages" | "summary_planned" | "stages">): GraphNode[] {
  const started = session.stages.filter((stage) => stage.stage_type !== "chat" && stage.stage_type !== "scoring");
  const count = (type: "main" | "synthesis") =>
    started.filter((stage) => (type === "synthesis") === (stage.stage_type === "synthesis") && stage.stage_type !== "exec_summary").length;
  const summary = session.summary_planned && !started.some((stage) => stage.stage_type === "exec_summary") ? [plannedNode("planned-summary", SUMMARY, [])] : [];
  return [...started.map(startedNode), ...plannedNodes(session.planned_stages, count("main"), count("synthesis")), ...summary];
}

function startedNode(stage: StageView): GraphNode {
  const known = stage.executions.map((execution) => ({
    key: execution.id,
    name: execution.agent_name,
    status: execution.status,
    isSubAgent: isSubAgent(execution),
    task: execution.task ?? null,
    execution: execution.id,
  }));
  return { key: stage.id, name: stage.stage_name, stage, status: stage.status, branches: known.length > 1 ? known : [] };
}

function plannedNodes(planned: readonly PlannedStage[], mainsStarted: number, synthesesStarted: number): GraphNode[] {
  const nodes: GraphNode[] = [];
  let syntheses = 0;
  planned.forEach((stage, index) => {
    if (index >= mainsStarted) nodes.push(plannedNode(`planned-${index}`, stage.name, stage.agents));
    if (!stage.synthesis) return;
    syntheses += 1;
    if (syntheses > synthesesStarted) nodes.push(plannedNode(`planned-${index}-synthesis`, `${stage.name} synthesis`, []));
  });
  return nodes;
}

function plannedNode(key: string, name: string, agents: readonly string[]): GraphNode {
  const branches = agents.length > 1 ? agents.map((agent, index) => ({ key: `${key}-${index}`, name: agent, status: "pending" as const, isSubAgent: false, task: null, execution: null })) : [];
  return { key, name, stage: null, status: "pending", branches };
}

interface StageGraphProps {
  nodes: readonly GraphNode[];
  /** The session has ended: pending stages will not be reached. */
  ended: boolean;
  onStage: (stageId: string) => void;
  /** Scroll to an agent of a stage; to the dispatching call of a sub-agent. */
  onAgent: (stageId: string, executionId: string) => void;
}

export const StageGraph = memo(function StageGraph({ nodes, ...rest }: StageGraphProps) {
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

function useRunBadge(status: RunStatus, ended: boolean): BadgeStyle {
  const badge = use(RunBadgesContext)[status];
  return status === "pending" && ended ? { ...badge, label: "Not reached" } : badge;
}

type NodeProps = Omit<StageGraphProps, "nodes"> & { node: GraphNode };

function Node({ node, ended, onStage, onAgent }: NodeProps) {
  const { stage } = node;
  const badge = useRunBadge(node.status, ended);
  return (
    <Box sx={{ border: 1, borderStyle: stage ? "solid" : "dashed", borderColor: node.status === "active" ? "info.main" : "divider", borderRadius: 1, bgcolor: "background.paper", overflow: "hidden" }}>
      <ButtonBase disabled={!stage} onClick={() => stage && onStage(stage.id)} sx={{ display: "flex", width: "100%", justifyContent: "flex-start", textAlign: "left", alignItems: "center", gap: 0.75, px: 1.25, py: 0.5, ...HOVER }}>
        <BadgeIcon badge={badge} size={15} />
        <Typography component="span" variant="body2" sx={{ fontWeight: 600, color: stage ? "text.primary" : "text.secondary" }}>
          {node.name}
          <VisuallyHidden>{badge.label}</VisuallyHidden>
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
  const subAgents = node.branches.filter((branch) => branch.isSubAgent).length;
  return (
    <Box sx={{ mb: 0.5, ml: 2, mr: 0.5, borderLeft: 2, borderColor: "divider" }}>
      <Box component="ul" aria-label={`Agents of ${node.name}`} sx={{ display: "grid", listStyle: "none", m: 0, p: 0 }}>
        {node.branches
          .filter((branch) => !branch.isSubAgent || !folded)
          .map((branch) => (
            <li key={branch.key}>
              <BranchButton branch={branch} ended={ended} onClick={node.stage && branch.execution !== null ? () => onAgent(node.stage?.id ?? "", branch.execution ?? "") : undefined} />
            </li>
          ))}
      </Box>
      {subAgents > 0 && (
        <ButtonBase aria-expanded={!folded} onClick={() => setFolded(!folded)} sx={{ ml: 1.25, px: 0.5, minHeight: 24, borderRadius: 0.5, ...HOVER }}>
          <Typography component="span" variant="caption" color="textSecondary" sx={{ textDecoration: "underline" }}>
            {folded ? `Show ${plural(subAgents, "sub-agent")}` : "Hide sub-agents"}
          </Typography>
        </ButtonBase>
      )}
    </Box>
  );
}

function BranchButton({ branch, ended, onClick }: { branch: Branch; ended: boolean; onClick: (() => void) | undefined }) {
  const badge = useRunBadge(branch.status, ended);
  return (
    <ButtonBase disabled={!onClick} onClick={onClick} title={branch.task ?? undefined} sx={{ display: "flex", width: "100%", justifyContent: "flex-start", gap: 0.75, minHeight: 24, pl: branch.isSubAgent ? 2 : 0, pr: 0.75, borderRadius: 0.5, ...HOVER }}>
      <Box component="span" aria-hidden sx={{ width: 8, height: "2px", bgcolor: "divider" }} />
      <BadgeIcon badge={badge} size={13} />
      <Typography component="span" variant="caption" color="textSecondary">
        {branch.name}
        <VisuallyHidden>{`${branch.isSubAgent ? "sent by the agent above, " : ""}${badge.label}`}</VisuallyHidden>
      </Typography>
    </ButtonBase>
  );
}
