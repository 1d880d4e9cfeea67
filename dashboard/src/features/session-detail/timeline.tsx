/** The timeline: a virtualised list of rows that follows its end while it grows. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Typography from "@mui/material/Typography";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { use, useCallback, useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Badge } from "@/components/badge";
import { formatCount } from "@/components/format";
import { SESSION_HEADER_PX, usePageTop } from "@/components/page";
import { Nothing } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { Elapsed } from "@/components/times";
import { distinctReason, RunBadgesContext } from "@/presentation/statuses";
import type { SubAgents } from "@/presentation/sub-agents";
import { AgentRow, useSubAgents } from "@/presentation/sub-agents";
import type { TimelineRow } from "@/presentation/timeline-rows";
import { indexOfAgent, plannedAgents, rowEvents, timelineRows, withCurrentEvents } from "@/presentation/timeline-rows";
import type { StageView, TimelineEvent } from "@/wire/types";
import { AgentColumns, AgentTabs, CancelAgentButton } from "./agents";
import { useFollowEnd } from "./follow-end";

interface TimelineProps {
  stages: readonly StageView[];
  /** The events when one was last added or completed. */
  events: readonly TimelineEvent[];
  /** The current content of an event. */
  currentEvent: (event: TimelineEvent) => TimelineEvent;
  /** More events are to come: follow the end. */
  growing: boolean;
  /** Scroll to this event. */
  target: string | undefined;
  /** Scroll to this stage, or to an agent of it. A new object each time it is requested. */
  stageTarget: StageTarget | null;
  /** Texts that the page shows in another place too. */
  repeated: ReadonlySet<string>;
  /** Puts the event into the address of the page, and returns the address. */
  onLink: (eventId: string) => string;
  onCancelAgent: (executionId: string) => void;
  /** Whether the timeline is following its end. */
  onFollowing: (following: boolean) => void;
}

export interface StageTarget {
  id: string;
  agent?: string;
}

const ESTIMATED_PX = 44;
// The styles of all rows, given once: rows are rendered with every scroll event.
const FEED = { position: "relative", "& > div": { position: "absolute", top: 0, left: 0, right: 0 } } as const;

export function Timeline({ stages, events, currentEvent, growing, target, stageTarget, repeated, onLink, onCancelAgent, onFollowing }: TimelineProps) {
  const [selected, setSelected] = useState<ReadonlyMap<string, string>>(new Map());
  const [sideBySide, setSideBySide] = useState<ReadonlySet<string>>(new Set());
  const subAgents = useSubAgents(stages);
  const rows = useMemo(() => timelineRows(stages, events, selected, sideBySide, subAgents.open), [stages, events, selected, sideBySide, subAgents.open]);
  const list = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const top = usePageTop(list);
  const { following, onGrowth, follow, stop } = useFollowEnd(end, growing, target === undefined);

  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ESTIMATED_PX,
    // Memoised: with a new function, every row would be measured again.
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    overscan: 8,
    scrollMargin: top,
    scrollPaddingStart: SESSION_HEADER_PX,
  });

  // While the page follows its end, it scrolls by itself: the virtualizer would move it back by what rows turn out to be smaller than estimated.
  useLayoutEffect(() => {
    virtual.shouldAdjustScrollPositionOnItemSizeChange = growing && following ? () => false : undefined;
  }, [virtual, growing, following]);
  useLayoutEffect(onGrowth);
  useEffect(() => onFollowing(following), [following, onFollowing]);

  const select = useCallback((stageId: string, executionId: string) => {
    // The same map if nothing changes: new rows would make the effects below look for their target again.
    setSelected((before) => (before.get(stageId) === executionId ? before : new Map(before).set(stageId, executionId)));
  }, []);
  const toggleSideBySide = useCallback((stageId: string) => {
    setSideBySide((before) => {
      const after = new Set(before);
      if (!after.delete(stageId)) after.add(stageId);
      return after;
    });
  }, []);

  const scrollToRow = (index: number) => {
    stop();
    virtual.scrollToIndex(index, { align: "start" });
  };
  const scrollToCall = (executionId: string) => {
    const index = rows.findIndex((row) => row.kind === "sub-agent" && row.execution.id === executionId);
    if (index >= 0) scrollToRow(index);
  };
  // Each target is scrolled to once. If it has no row yet, selecting its agent adds one, and the effect runs again with the new rows.
  const reachedStage = useRef<StageTarget | null>(null);
  const scrollToStage = useEffectEvent((wanted: StageTarget) => {
    const stage = stages.find((known) => known.id === wanted.id);
    if (!stage) return;
    const chosen = wanted.agent === undefined ? undefined : subAgents.show(wanted.agent);
    const index = wanted.agent === undefined ? rows.findIndex((row) => row.kind === "stage" && row.stage.id === stage.id) : indexOfAgent(rows, stage, wanted.agent, sideBySide.has(stage.id));
    if (index < 0) {
      if (chosen !== undefined) select(stage.id, chosen);
      return;
    }
    reachedStage.current = wanted;
    scrollToRow(index);
  });
  useEffect(() => {
    if (stageTarget && reachedStage.current !== stageTarget) scrollToStage(stageTarget);
  }, [stageTarget, rows]);

  const reachedEvent = useRef<string | undefined>(undefined);
  const scrollToEvent = useEffectEvent((id: string) => {
    const index = rows.findIndex((row) => rowEvents(row).some((event) => event.id === id));
    if (index >= 0) {
      reachedEvent.current = id;
      scrollToRow(index);
      return;
    }
    const event = events.find((known) => known.id === id);
    if (event?.stage_id && sideBySide.has(event.stage_id)) toggleSideBySide(event.stage_id);
    if (event?.stage_id && event.execution_id) select(event.stage_id, subAgents.show(event.execution_id));
  });
  useEffect(() => {
    // The same event can be the target again later.
    if (target === undefined) reachedEvent.current = undefined;
    else if (reachedEvent.current !== target) scrollToEvent(target);
  }, [target, rows]);

  if (rows.length === 0) {
    return <Nothing title={growing ? "Nothing has happened yet" : "Nothing was recorded"}>{growing ? "The first steps appear here as they happen." : ""}</Nothing>;
  }
  return (
    <Box sx={{ position: "relative" }}>
      <Box ref={list} role="feed" aria-label="Timeline" sx={FEED} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (!row) return null;
          return (
            <div
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              role="article"
              aria-posinset={item.index + 1}
              aria-setsize={growing ? -1 : rows.length}
              style={{ transform: `translateY(${item.start - top}px)` }}
            >
              <Row row={withCurrentEvents(row, currentEvent)} {...{ target, repeated, onLink, onCancelAgent, events, currentEvent, subAgents, sideBySide }} onSelect={select} onSideBySide={toggleSideBySide} onBack={scrollToCall} />
            </div>
          );
        })}
      </Box>
      <div ref={end} />
      {growing && !following && (
        <Button variant="contained" size="small" startIcon={<ArrowDown size={15} />} onClick={follow} sx={{ position: "fixed", bottom: 20, left: "50%", transform: "translateX(-50%)", zIndex: 5 }}>
          Follow live
        </Button>
      )}
    </Box>
  );
}

interface RowProps extends Pick<TimelineProps, "target" | "repeated" | "onLink" | "onCancelAgent" | "events" | "currentEvent"> {
  row: TimelineRow;
  sideBySide: ReadonlySet<string>;
  onSelect: (stageId: string, executionId: string) => void;
  onSideBySide: (stageId: string) => void;
  subAgents: SubAgents;
  onBack: (executionId: string) => void;
}

function Row({ row, target, repeated, onLink, onCancelAgent, events, currentEvent, sideBySide, subAgents, onSelect, onSideBySide, onBack }: RowProps) {
  switch (row.kind) {
    case "stage":
      return <StageHeader stage={row.stage} />;
    case "agents": {
      const columns = sideBySide.has(row.stage.id);
      return (
        <>
          <AgentTabs
            stage={row.stage}
            selected={row.selected}
            columns={columns}
            onSelect={(executionId) => onSelect(row.stage.id, executionId)}
            onColumns={() => onSideBySide(row.stage.id)}
            onCancelAgent={onCancelAgent}
          />
          {columns && <AgentColumns stage={row.stage} {...{ events, currentEvent, subAgents, onLink, onCancelAgent }} />}
        </>
      );
    }
    case "sub-agent":
    case "back-to-call":
    case "tool":
    case "event":
      return (
        <AgentRow
          row={row}
          target={target}
          repeated={row.kind === "event" && repeated.has(row.event.content)}
          onLink={onLink}
          onToggle={subAgents.toggle}
          onBack={onBack}
          actionsOf={(execution) => <CancelAgentButton execution={execution} onCancel={onCancelAgent} />}
        />
      );
  }
}

function StageHeader({ stage }: { stage: StageView }) {
  const badge = use(RunBadgesContext)[stage.status];
  const reason = distinctReason(badge, stage.error_message);
  const planned = plannedAgents(stage);
  const agent = planned.length === 1 ? planned[0] : undefined;
  return (
    <Box sx={{ display: "flex", alignItems: "center", flexWrap: "wrap", columnGap: 1.5, px: 2, py: 1, mt: 0.5, borderTop: 1, borderBottom: 1, borderColor: "divider", bgcolor: "code.block", "[data-index=\"0\"] > &": { mt: 0, borderTop: 0 } }}>
      <Typography variant="h3">{stage.stage_name}</Typography>
      <Typography variant="body2" component="span">
        <Badge badge={badge} />
      </Typography>
      <Typography variant="caption" color="textSecondary" sx={{ flex: 1 }}>
        {stage.started_at && <Elapsed since={stage.started_at} until={stage.completed_at} />}
        {agent && (
          <>
            {" · "}
            {agent.agent_name}
            {" · "}
            <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.72rem" }}>
              {agent.model_name}
            </Box>
            {agent.usage.total_tokens > 0 && ` · ${formatCount(agent.usage.total_tokens)} tokens`}
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
