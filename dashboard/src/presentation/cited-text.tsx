/** A text whose citations are chips: what they quote, whether it is true, and the way to where it was seen. */
import { useQuery } from "@tanstack/react-query";
import { createContext, use, useMemo } from "react";
import { answerCitations } from "@/api/evidence";
import { Markdown } from "@/components/markdown";
import type { Marks } from "@/components/markdown-marks";
import type { TimelineEvent } from "@/wire/types";
import { CitationChip } from "./citation-chip";
import type { CheckedCitations } from "./citation-states";
import { byKey } from "./citation-states";
import { citationKey, citedPlaces } from "./citations";
import { EvidenceDoorContext } from "./evidence-door";

const CheckedContext = createContext<CheckedCitations | null>(null);

interface CitedMarkdownProps {
  text: string;
  growing?: boolean;
  /** What checking found; null while it has not been done. */
  checked: CheckedCitations | null;
  /** What else is marked in it. */
  marks?: Marks;
}

export function CitedMarkdown({ text, growing = false, checked, marks = CITATIONS }: CitedMarkdownProps) {
  const door = use(EvidenceDoorContext);
  return (
    <CheckedContext value={checked}>
      <Markdown text={text} growing={growing} marks={door ? marks : undefined} />
    </CheckedContext>
  );
}

function Citation({ text }: { text: string }) {
  const checked = use(CheckedContext);
  const entries = citedPlaces(text)[0]?.entries ?? [];
  return entries.map((cited, index) => <CitationChip key={index} cited={cited} checked={checked?.get(citationKey(cited)) ?? null} />);
}

export const CITATIONS: Marks = { spansOf: citedPlaces, Mark: Citation };

/** What an agent says. Its answer is checked; what it says on the way is not. */
export function AgentText({ event }: { event: TimelineEvent }) {
  const door = use(EvidenceDoorContext);
  const { content, execution_id: executionId } = event;
  if (door && executionId !== null && isChecked(event)) return <CheckedText text={content} sessionId={door.sessionId} executionId={executionId} />;
  return <CitedMarkdown text={content} growing={event.status === "streaming"} checked={null} />;
}

function isChecked({ event_type: type, status, metadata }: TimelineEvent): boolean {
  return type === "final_analysis" && status === "completed" && "citations" in metadata;
}

function CheckedText({ text, sessionId, executionId }: { text: string; sessionId: string; executionId: string }) {
  const { data } = useQuery(answerCitations(sessionId, executionId));
  const checked = useMemo(() => (data ? byKey(data.citations) : null), [data]);
  return <CitedMarkdown text={text} checked={checked} />;
}
