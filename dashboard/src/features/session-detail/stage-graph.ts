/** Pure module: the way of a session through its chain, walked and still to walk. */
import { isSent } from "@/presentation/agent-tree";
import type { PlannedStage, RunStatus, SessionDetail, StageView } from "@/wire/types";

export interface GraphNode {
  key: string;
  name: string;
  /** Null for a stage that has not begun. */
  stage: StageView | null;
  status: RunStatus;
  branches: readonly Branch[];
}
export interface Branch {
  key: string;
  name: string;
  status: RunStatus;
  /** Another agent of the stage, which stands above it, sent it: for this. */
  sent: boolean;
  task: string | null;
  /** Null for one that has not begun. */
  execution: string | null;
}

// Its name when it has begun.
const SUMMARY = "executive summary";

export function stageGraph(session: Pick<SessionDetail, "planned_stages" | "summary_planned" | "stages">): GraphNode[] {
  const walked = session.stages.filter((stage) => stage.stage_type !== "chat" && stage.stage_type !== "scoring");
  const count = (type: "main" | "synthesis") =>
    walked.filter((stage) => (type === "synthesis") === (stage.stage_type === "synthesis") && stage.stage_type !== "exec_summary").length;
  const summary = session.summary_planned && !walked.some((stage) => stage.stage_type === "exec_summary") ? [waiting("planned-summary", SUMMARY, [])] : [];
  return [...walked.map(begun), ...stillToWalk(session.planned_stages, count("main"), count("synthesis")), ...summary];
}

function begun(stage: StageView): GraphNode {
  const known = stage.executions.map((execution) => ({
    key: execution.id,
    name: execution.agent_name,
    status: execution.status,
    sent: isSent(execution),
    task: execution.task ?? null,
    execution: execution.id,
  }));
  return { key: stage.id, name: stage.stage_name, stage, status: stage.status, branches: known.length > 1 ? known : [] };
}

function stillToWalk(planned: readonly PlannedStage[], mainsBegun: number, synthesesBegun: number): GraphNode[] {
  const nodes: GraphNode[] = [];
  let syntheses = 0;
  planned.forEach((stage, index) => {
    if (index >= mainsBegun) nodes.push(waiting(`planned-${index}`, stage.name, stage.agents));
    if (!stage.synthesis) return;
    syntheses += 1;
    if (syntheses > synthesesBegun) nodes.push(waiting(`planned-${index}-synthesis`, `${stage.name} synthesis`, []));
  });
  return nodes;
}

function waiting(key: string, name: string, agents: readonly string[]): GraphNode {
  const branches = agents.length > 1 ? agents.map((agent, index) => ({ key: `${key}-${index}`, name: agent, status: "pending" as const, sent: false, task: null, execution: null })) : [];
  return { key, name, stage: null, status: "pending", branches };
}
