/** Evidence on a session's page: whether its texts may cite, what is known of their citations, and where a result stands in the timeline. */
import { useIsFetching, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { citationsKey } from "@/api/evidence";
import type { EvidenceAddress, EvidenceDoor } from "@/presentation/evidence-door";
import { evidenceIdOf } from "@/presentation/timeline-rows";
import type { Citation, CitationList, SessionDetail, TimelineEvent, TimelineEventType } from "@/wire/types";

/** Null for sessions from before results had ids: what looks like a citation there is none. */
export function useEvidenceDoor(
  { id, citations }: SessionDetail,
  events: readonly TimelineEvent[],
  hrefOf: EvidenceDoor["hrefOf"],
  open: (address: EvidenceAddress) => void,
): EvidenceDoor | null {
  const isCitable = citations !== null || events.some((event) => evidenceIdOf(event) !== null);
  return useMemo(() => (isCitable ? { sessionId: id, hrefOf, open } : null), [isCitable, id, hrefOf, open]);
}

/** Those of the analysis and of every answer that has been looked at. */
export function useKnownCitations(sessionId: string): Citation[] {
  const client = useQueryClient();
  const queryKey = citationsKey(sessionId);
  // Heard of when another list has come.
  useIsFetching({ queryKey });
  return client.getQueriesData<CitationList>({ queryKey }).flatMap(([, list]) => list?.citations ?? []);
}

const BRINGS_EVIDENCE: ReadonlySet<TimelineEventType> = new Set(["tool_result", "note"]);

export function resultOf(events: readonly TimelineEvent[], evidenceId: string): TimelineEvent | undefined {
  return events.findLast((event) => evidenceIdOf(event) === evidenceId && BRINGS_EVIDENCE.has(event.event_type));
}
