/** The agents of a parallel stage: one at a time in tabs, or all side by side in columns. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Tab from "@mui/material/Tab";
import Tabs from "@mui/material/Tabs";
import Typography from "@mui/material/Typography";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Ban, Columns2, Rows2 } from "lucide-react";
import { use, useCallback, useMemo } from "react";
import { Badge, BadgeIcon, VisuallyHidden } from "@/components/badge";
import { Elapsed } from "@/components/times";
import { Allowed } from "@/presentation/allowed";
import { hasRunEnded, RunBadgesContext } from "@/presentation/statuses";
import type { SubAgents } from "@/presentation/sub-agents";
import { AgentRow } from "@/presentation/sub-agents";
import { agentRows, plannedAgents, withCurrentEvents } from "@/presentation/timeline-rows";
import type { ExecutionView, StageView, TimelineEvent } from "@/wire/types";
import { useStickToEnd } from "./follow-end";

interface CancelAgentButtonProps {
  execution: ExecutionView;
  /** The name of the agent is beside the button. */
  brief?: boolean;
  onCancel: (executionId: string) => void;
}

/** Cancels one agent; the others of its stage continue. */
export function CancelAgentButton({ execution, brief = false, onCancel }: CancelAgentButtonProps) {
  if (hasRunEnded(execution.status)) return null;
  return (
    <Allowed operation="cancelExecution">
      <Button size="small" color="inherit" startIcon={<Ban size={14} />} disabled={execution.cancel_requested} onClick={() => onCancel(execution.id)} aria-label={execution.cancel_requested ? undefined : `Stop ${execution.agent_name}`}>
        {execution.cancel_requested ? "Stopping…" : brief ? "Stop" : `Stop ${execution.agent_name}`}
      </Button>
    </Allowed>
  );
}

interface AgentTabsProps {
  stage: StageView;
  selected: string;
  columns: boolean;
  onSelect: (executionId: string) => void;
  onColumns: () => void;
  onCancelAgent: (executionId: string) => void;
}

export function AgentTabs({ stage, selected, columns, onSelect, onColumns, onCancelAgent }: AgentTabsProps) {
  const current = stage.executions.find((execution) => execution.id === selected);
  const badges = use(RunBadgesContext);
  return (
    <Box sx={{ display: "flex", alignItems: "center", flexWrap: "wrap", borderBottom: 1, borderColor: "divider", px: 1, mb: 0.5 }}>
      {columns ? (
        <Box sx={{ flex: 1 }} />
      ) : (
        <Tabs value={selected} onChange={(_, id: string) => onSelect(id)} variant="scrollable" aria-label="Agents of this stage" sx={{ flex: 1, minHeight: 40 }}>
          {plannedAgents(stage).map((execution) => (
            <Tab
              key={execution.id}
              value={execution.id}
              icon={<BadgeIcon badge={badges[execution.status]} size={14} />}
              iconPosition="start"
              label={
                <span>
                  {execution.agent_name}
                  <VisuallyHidden>{badges[execution.status].label}</VisuallyHidden>
                </span>
              }
              sx={{ minHeight: 40, py: 0 }}
            />
          ))}
        </Tabs>
      )}
      {current && !columns && <CancelAgentButton execution={current} onCancel={onCancelAgent} />}
      <Button size="small" color="inherit" onClick={onColumns} startIcon={columns ? <Rows2 size={14} /> : <Columns2 size={14} />} sx={{ display: { xs: "none", md: "inline-flex" } }}>
        {columns ? "One at a time" : "Side by side"}
      </Button>
    </Box>
  );
}

interface AgentColumnsProps {
  stage: StageView;
  events: readonly TimelineEvent[];
  currentEvent: (event: TimelineEvent) => TimelineEvent;
  subAgents: SubAgents;
  onLink: (eventId: string) => string;
  onCancelAgent: (executionId: string) => void;
}

export function AgentColumns({ stage, ...rest }: AgentColumnsProps) {
  return (
    <Box sx={{ display: "grid", gridAutoFlow: "column", gridAutoColumns: "minmax(320px, 1fr)", overflowX: "auto", mb: 1 }}>
      {plannedAgents(stage).map((execution) => (
        <AgentColumn key={execution.id} stage={stage} execution={execution} {...rest} />
      ))}
    </Box>
  );
}

function AgentColumn({ stage, execution, events, currentEvent, subAgents, onLink, onCancelAgent }: AgentColumnsProps & { execution: ExecutionView }) {
  const rows = useMemo(() => agentRows(execution, stage, events, subAgents.open), [events, stage, execution, subAgents.open]);
  const { box } = useStickToEnd(execution.status === "active");
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 44,
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    overscan: 6,
  });
  return (
    <Box sx={{ borderRight: 1, borderColor: "divider", minWidth: 0 }}>
      <Typography variant="body2" component="div" sx={{ display: "flex", flexWrap: "wrap", columnGap: 1, px: 2, py: 0.75, alignItems: "center", minHeight: 42 }}>
        <strong>{execution.agent_name}</strong>
        <Badge badge={use(RunBadgesContext)[execution.status]} />
        <Typography variant="caption" color="textSecondary" sx={{ flex: 1, whiteSpace: "nowrap" }}>
          {execution.started_at && <Elapsed since={execution.started_at} until={execution.completed_at} />}
        </Typography>
        <CancelAgentButton execution={execution} brief onCancel={onCancelAgent} />
      </Typography>
      <Box
        ref={box}
        role="region"
        aria-label={`Timeline of ${execution.agent_name}`}
        tabIndex={0}
        // A narrow column has no room for times.
        sx={{ maxHeight: "65vh", overflowY: "auto", pb: 0.5, "& time": { display: "none" } }}
      >
        <div>
          {rows.length === 0 && (
            <Typography variant="body2" color="textSecondary" sx={{ px: 2, py: 1 }}>
              {execution.completed_at ? "Nothing was recorded." : "Nothing yet."}
            </Typography>
          )}
          <Box sx={{ position: "relative" }} style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map((item) => {
              const row = rows[item.index];
              return (
                row && (
                  <Box key={item.key} ref={virtual.measureElement} data-index={item.index} sx={{ position: "absolute", top: 0, left: 0, right: 0 }} style={{ transform: `translateY(${item.start}px)` }}>
                    <AgentRow
                      row={withCurrentEvents(row, currentEvent)}
                      onLink={onLink}
                      onToggle={subAgents.toggle}
                      onBack={(executionId) => virtual.scrollToIndex(rows.findIndex((other) => other.kind === "sub-agent" && other.execution.id === executionId), { align: "start" })}
                      actionsOf={(dispatched) => <CancelAgentButton execution={dispatched} onCancel={onCancelAgent} />}
                    />
                  </Box>
                )
              );
            })}
          </Box>
        </div>
      </Box>
    </Box>
  );
}
