/** The timeline: thousands of rows of which only the visible ones are in the page, following the end while it grows. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import { useCallback, useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Nothing } from "@/components/states";
import { usePageTop } from "@/components/use-page-top";
import { Entry } from "@/presentation/entries";
import type { TimelineRow } from "@/presentation/timeline-rows";
import { currentRow, eventsOfRow, isReport, rowOfAgent, timelineRows } from "@/presentation/timeline-rows";
import { BackToCall, SentEntry, WithinSent } from "@/presentation/sent-entry";
import type { SentAgents } from "@/presentation/use-sent-agents";
import { useSentAgents } from "@/presentation/use-sent-agents";
import type { StageView, TimelineEvent } from "@/wire/types";
import { AgentColumns, AgentTabs } from "./agents";
import { CancelAgent } from "./cancel-agent";
import { StageHeader } from "./stage-header";
import { useFollowEnd } from "./use-follow-end";

interface TimelineProps {
  stages: readonly StageView[];
  /** As they were when one last came or ended. */
  events: readonly TimelineEvent[];
  /** What has become of an event since then. */
  now: (event: TimelineEvent) => TimelineEvent;
  /** More is to come: follow the end. */
  growing: boolean;
  /** Scroll to this event. */
  target: string | undefined;
  /** Scroll to this stage, or to an agent of it; a new object each time it is asked for. */
  stageTarget: StageTarget | null;
  /** Texts that stand elsewhere on the page. */
  repeated: ReadonlySet<string>;
  onLink: (eventId: string) => void;
  onCancelAgent: (executionId: string) => void;
  /** Whether the reader is being taken along. */
  onFollowing: (following: boolean) => void;
}

export interface StageTarget {
  id: string;
  agent?: string;
}

const ESTIMATED_PX = 44;
// The session's header stays on top of what is scrolled.
const HEADER_PX = 64;
// The looks of all rows, given once: each row is drawn again with each turn of a wheel.
const FEED = { position: "relative", "& > div": { position: "absolute", top: 0, left: 0, right: 0 } } as const;

export function Timeline({ stages, events, now, growing, target, stageTarget, repeated, onLink, onCancelAgent, onFollowing }: TimelineProps) {
  const [selected, setSelected] = useState<ReadonlyMap<string, string>>(new Map());
  const [sideBySide, setSideBySide] = useState<ReadonlySet<string>>(new Set());
  const sent = useSentAgents(stages);
  const rows = useMemo(() => timelineRows(stages, events, selected, sideBySide, sent.open), [stages, events, selected, sideBySide, sent.open]);
  const list = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const top = usePageTop(list);
  const { following, grew, follow, stop } = useFollowEnd(end, growing, target === undefined);

  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ESTIMATED_PX,
    // The same function for the same rows: another one would have every row measured anew.
    getItemKey: useCallback((index: number) => rows[index]?.key ?? index, [rows]),
    overscan: 8,
    scrollMargin: top,
    scrollPaddingStart: HEADER_PX,
  });

  useLayoutEffect(grew);
  useEffect(() => onFollowing(following), [following, onFollowing]);

  const select = useCallback((stageId: string, executionId: string) => setSelected((before) => new Map(before).set(stageId, executionId)), []);
  const toggleSideBySide = useCallback((stageId: string) => {
    setSideBySide((before) => {
      const after = new Set(before);
      if (!after.delete(stageId)) after.add(stageId);
      return after;
    });
  }, []);

  const reveal = (index: number) => {
    stop();
    virtual.scrollToIndex(index, { align: "start" });
  };
  const back = (executionId: string) => {
    const index = rows.findIndex((row) => row.kind === "sent" && row.execution.id === executionId);
    if (index >= 0) reveal(index);
  };
  const reached = useRef<StageTarget | null>(null);
  const revealStage = useEffectEvent((wanted: StageTarget) => {
    const stage = stages.find((known) => known.id === wanted.id);
    if (!stage) return;
    // One that was sent is opened, and its sender chosen where there are several.
    const chosen = wanted.agent === undefined ? undefined : sent.show(wanted.agent);
    const index = wanted.agent === undefined ? rows.findIndex((row) => row.kind === "stage" && row.stage.id === stage.id) : rowOfAgent(rows, stage, wanted.agent, sideBySide.has(stage.id));
    if (index < 0) {
      if (chosen !== undefined && selected.get(stage.id) !== chosen) select(stage.id, chosen);
      return;
    }
    reached.current = wanted;
    reveal(index);
  });
  useEffect(() => {
    if (stageTarget && reached.current !== stageTarget) revealStage(stageTarget);
  }, [stageTarget, rows]);

  // The event of a deep link is shown once: in its agent's tab, and in view.
  const shown = useRef<string | undefined>(undefined);
  const revealEvent = useEffectEvent((id: string) => {
    const index = rows.findIndex((row) => eventsOfRow(row).some((event) => event.id === id));
    if (index >= 0) {
      shown.current = id;
      reveal(index);
      return;
    }
    const event = events.find((known) => known.id === id);
    if (event?.stage_id && sideBySide.has(event.stage_id)) toggleSideBySide(event.stage_id);
    if (event?.stage_id && event.execution_id) select(event.stage_id, sent.show(event.execution_id));
  });
  useEffect(() => {
    if (target !== undefined && shown.current !== target) revealEvent(target);
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
              <Row row={currentRow(row, now)} {...{ target, repeated, onLink, onCancelAgent, events, now, sent }} onSelect={select} sideBySide={sideBySide} onSideBySide={toggleSideBySide} onBack={back} />
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

interface RowProps extends Pick<TimelineProps, "target" | "repeated" | "onLink" | "onCancelAgent" | "events" | "now"> {
  row: TimelineRow;
  sideBySide: ReadonlySet<string>;
  onSelect: (stageId: string, executionId: string) => void;
  onSideBySide: (stageId: string) => void;
  sent: SentAgents;
  onBack: (executionId: string) => void;
}

function Row({ row, target, repeated, onLink, onCancelAgent, events, now, sideBySide, sent, onSelect, onSideBySide, onBack }: RowProps) {
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
          {columns && <AgentColumns stage={row.stage} {...{ events, now, sent, onLink, onCancelAgent }} />}
        </>
      );
    }
    case "sent":
      return <SentEntry row={row} highlighted={row.call.id === target} onLink={onLink} onToggle={sent.toggle} actions={<CancelAgent execution={row.execution} onCancel={onCancelAgent} />} />;
    case "back":
      return <BackToCall row={row} onBack={onBack} />;
    case "tool":
    case "event":
      if (row.within) return <WithinSent><Entry row={row} repeated={isReport(row)} highlighted={eventsOfRow(row).some((event) => event.id === target)} onLink={onLink} /></WithinSent>;
      return <Entry row={row} repeated={row.kind === "event" && repeated.has(row.event.content)} highlighted={eventsOfRow(row).some((event) => event.id === target)} onLink={onLink} />;
  }
}
