/** The agents of a parallel stage: one at a time in tabs, or all of them side by side. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Tab from "@mui/material/Tab";
import Tabs from "@mui/material/Tabs";
import Typography from "@mui/material/Typography";
import { useVirtualizer } from "@tanstack/react-virtual";
import { Columns2, Rows2 } from "lucide-react";
import { use, useCallback, useLayoutEffect, useMemo, useRef } from "react";
import { Badge, FaceIcon } from "@/components/badge";
import { Spoken } from "@/components/spoken";
import { Elapsed } from "@/components/times";
import { AgentRow } from "@/presentation/agent-row";
import { plannedAgents } from "@/presentation/agent-tree";
import { RunFacesContext } from "@/presentation/run-faces";
import { currentRow, rowsOfAgent } from "@/presentation/timeline-rows";
import type { SentAgents } from "@/presentation/use-sent-agents";
import type { ExecutionView, StageView, TimelineEvent } from "@/wire/types";
import { CancelAgent } from "./cancel-agent";

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
  const faces = use(RunFacesContext);
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
              icon={<FaceIcon face={faces[execution.status]} size={14} />}
              iconPosition="start"
              label={
                <span>
                  {execution.agent_name}
                  <Spoken>{faces[execution.status].label}</Spoken>
                </span>
              }
              sx={{ minHeight: 40, py: 0 }}
            />
          ))}
        </Tabs>
      )}
      {current && !columns && <CancelAgent execution={current} onCancel={onCancelAgent} />}
      <Button size="small" color="inherit" onClick={onColumns} startIcon={columns ? <Rows2 size={14} /> : <Columns2 size={14} />} sx={{ display: { xs: "none", md: "inline-flex" } }}>
        {columns ? "One at a time" : "Side by side"}
      </Button>
    </Box>
  );
}

interface AgentColumnsProps {
  stage: StageView;
  events: readonly TimelineEvent[];
  now: (event: TimelineEvent) => TimelineEvent;
  sent: SentAgents;
  onLink: (eventId: string) => void;
  onCancelAgent: (executionId: string) => void;
}

export function AgentColumns({ stage, ...rest }: AgentColumnsProps) {
  return (
    <Box sx={{ display: "grid", gridAutoFlow: "column", gridAutoColumns: "minmax(320px, 1fr)", overflowX: "auto", mb: 1 }}>
      {plannedAgents(stage).map((execution) => (
        <Column key={execution.id} stage={stage} execution={execution} {...rest} />
      ))}
    </Box>
  );
}

function Column({ stage, execution, events, now, sent, onLink, onCancelAgent }: AgentColumnsProps & { execution: ExecutionView }) {
  const rows = useMemo(() => rowsOfAgent(execution, stage, events, sent.open), [events, stage, execution, sent.open]);
  const container = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => container.current,
    estimateSize: () => 44,
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    overscan: 6,
  });
  useLayoutEffect(() => {
    const box = container.current;
    if (box && atEnd.current && execution.status === "active") box.scrollTop = box.scrollHeight;
  });
  const face = use(RunFacesContext)[execution.status];
  return (
    <Box sx={{ borderRight: 1, borderColor: "divider", minWidth: 0 }}>
      <Typography variant="body2" component="div" sx={{ display: "flex", flexWrap: "wrap", columnGap: 1, px: 2, py: 0.75, alignItems: "center", minHeight: 42 }}>
        <strong>{execution.agent_name}</strong>
        <Badge face={face} />
        <Typography variant="caption" color="textSecondary" sx={{ flex: 1, whiteSpace: "nowrap" }}>
          {execution.started_at && <Elapsed since={execution.started_at} until={execution.completed_at} />}
        </Typography>
        <CancelAgent execution={execution} brief onCancel={onCancelAgent} />
      </Typography>
      <Box
        ref={container}
        role="region"
        aria-label={`Timeline of ${execution.agent_name}`}
        tabIndex={0}
        onScroll={(event) => {
          const box = event.currentTarget;
          atEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
        }}
        // In half of the width, what was called says more than when.
        sx={{ maxHeight: "65vh", overflowY: "auto", pb: 0.5, "& time": { display: "none" } }}
      >
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
                    row={currentRow(row, now)}
                    onLink={onLink}
                    onToggle={sent.toggle}
                    onBack={(executionId) => virtual.scrollToIndex(rows.findIndex((one) => one.kind === "sent" && one.execution.id === executionId), { align: "start" })}
                    actionsOf={(one) => <CancelAgent execution={one} onCancel={onCancelAgent} />}
                  />
                </Box>
              )
            );
          })}
        </Box>
      </Box>
    </Box>
  );
}
