/** Text whose citations are links: a citation shows its quotation and check state, a tooltip with the quoted words in the evidence, and opens the evidence. */
import Box from "@mui/material/Box";
import Tooltip from "@mui/material/Tooltip";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import type { MouseEvent } from "react";
import { createContext, use, useMemo } from "react";
import { answerCitations, evidenceDetail } from "@/api/evidence";
import { BadgeIcon, VisuallyHidden } from "@/components/badge";
import { formatExact } from "@/components/format";
import { Markdown } from "@/components/markdown";
import type { Marks } from "@/components/markdown-marks";
import { Failure } from "@/components/states";
import { MONO, ONE_LINE } from "@/components/text-styles";
import type { EvidenceDetail, TimelineEvent } from "@/wire/types";
import type { CitedEvidence } from "./citations";
import { citationKey, findCitations } from "./citations";
import type { CheckedCitation, CheckedCitations, EvidenceTarget } from "./evidence";
import { CITATION_BADGES, citationsByKey, citedRange, describeCitation, EvidenceLinksContext, evidenceTarget, excerpt, findQuote } from "./evidence";
import { formatArguments } from "./tool-lines";

const CheckedCitationsContext = createContext<CheckedCitations | null>(null);

interface CitedMarkdownProps {
  text: string;
  growing?: boolean;
  /** Null while the citations have not been checked. */
  checked: CheckedCitations | null;
  /** The parts of the text that components render; by default its citations. */
  marks?: Marks;
}

export function CitedMarkdown({ text, growing = false, checked, marks = CITATIONS }: CitedMarkdownProps) {
  const links = use(EvidenceLinksContext);
  return (
    <CheckedCitationsContext value={checked}>
      <Markdown text={text} growing={growing} marks={links ? marks : undefined} />
    </CheckedCitationsContext>
  );
}

function CitationMark({ text }: { text: string }) {
  const checked = use(CheckedCitationsContext);
  const entries = findCitations(text)[0]?.entries ?? [];
  return entries.map((cited, index) => <CitationLink key={index} cited={cited} checked={checked?.get(citationKey(cited)) ?? null} />);
}

export const CITATIONS: Marks = { spansOf: findCitations, Mark: CitationMark };

/** The text of a timeline event. The citations of a final analysis have been checked. */
export function AgentText({ event: { content, event_type: type, status, metadata, execution_id: executionId } }: { event: TimelineEvent }) {
  const links = use(EvidenceLinksContext);
  const isChecked = type === "final_analysis" && status === "completed" && "citations" in metadata;
  const { data } = useQuery({ ...answerCitations(links?.sessionId ?? "", executionId ?? ""), enabled: isChecked && links !== null && executionId !== null });
  const checked = useMemo(() => (isChecked && data ? citationsByKey(data.citations) : null), [isChecked, data]);
  return <CitedMarkdown text={content} growing={status === "streaming"} checked={checked} />;
}

// Longer quotations are cut in the text; the tooltip has the rest.
const LONGEST_SHOWN = 110;

/** `checked` is null where the citation has not been checked. */
export function CitationLink({ cited, checked }: { cited: CitedEvidence; checked: CheckedCitation | null }) {
  const links = use(EvidenceLinksContext);
  const { evidenceId, quotation } = cited;
  if (!links) return `[${evidenceId}]`;
  const state = checked?.status ?? "unchecked";
  const badge = CITATION_BADGES[state];
  const target = evidenceTarget(evidenceId, quotation);
  const line = quotation?.replace(/\s+/g, " ") ?? "";
  return (
    <Tooltip title={<CitationTooltip sessionId={links.sessionId} cited={cited} checked={checked} />} slotProps={TOOLTIP} enterDelay={250} describeChild>
      <a className="citation" data-state={state} href={links.hrefOf(target)} onClick={(event) => openEvidence(event, links.open, target)}>
        {quotation !== null && (
          <>
            <q>{line.length > LONGEST_SHOWN ? `${line.slice(0, LONGEST_SHOWN - 1)}…` : line}</q>{" "}
          </>
        )}
        <span className="citation-id">
          <badge.icon size={11} aria-hidden />
          {evidenceId}
          <VisuallyHidden>{`(${badge.label.toLowerCase()})`}</VisuallyHidden>
        </span>
      </a>
    </Tooltip>
  );
}

/** Handles a click on a link to evidence. With a modifier key, the browser opens its address in a new tab or window. */
export function openEvidence(event: MouseEvent, open: (target: EvidenceTarget) => void, target: EvidenceTarget): void {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  open(target);
}

const TOOLTIP = {
  tooltip: {
    // One width from the start: it is placed before the words have been loaded.
    sx: { width: "min(560px, calc(100vw - 32px))", maxWidth: "none", p: 0, bgcolor: "background.paper", color: "text.primary", border: 1, borderColor: "divider", boxShadow: 6, fontWeight: 400, fontSize: "0.8125rem", overflow: "hidden" },
  },
} as const;

const CODE = { m: 0, px: 1.5, py: 1, bgcolor: "code.block", fontFamily: MONO, fontSize: "0.75rem", lineHeight: 1.5, whiteSpace: "pre-wrap", overflowWrap: "anywhere", maxHeight: 260, overflow: "hidden", color: "text.secondary" } as const;

function CitationTooltip({ sessionId, cited, checked }: { sessionId: string; cited: CitedEvidence; checked: CheckedCitation | null }) {
  const { data, error } = useQuery(evidenceDetail(sessionId, cited.evidenceId));
  const state = checked?.status ?? "unchecked";
  const range = data && (checked ? citedRange(data, checked) : findQuote(data, cited.quotation ?? ""));
  const shown = range && excerpt(range.text, range);
  // The columns of tables are wider than a tooltip has room for.
  const narrow = (text: string) => text.replace(/ {3,}/g, "  ");
  return (
    <>
      <Box sx={{ px: 1.5, py: 1, display: "flex", flexWrap: "wrap", columnGap: 1, alignItems: "baseline", borderBottom: 1, borderColor: "divider" }}>
        <Box component="strong">{cited.evidenceId}</Box>
        <Box component="span" sx={{ ...ONE_LINE, flex: 1, fontFamily: MONO, fontSize: "0.75rem", color: "text.secondary" }}>
          {data && evidenceSource(data)}
        </Box>
        {data?.read_at && <Box component="span" sx={{ width: "100%", fontSize: "0.75rem", color: "text.secondary" }}>{formatExact(new Date(data.read_at))}</Box>}
      </Box>
      {state === "failed" && cited.quotation !== null && (
        <Box sx={{ px: 1.5, pt: 1, overflowWrap: "anywhere", color: "text.secondary" }}>
          Quoted: <Box component="s" sx={{ fontFamily: MONO, fontSize: "0.75rem" }}>{cited.quotation}</Box>
        </Box>
      )}
      {shown && state === "failed" && (
        <Typography variant="caption" color="textSecondary" sx={{ display: "block", px: 1.5, pt: 1, pb: 0.5 }}>
          The nearest real line
        </Typography>
      )}
      {shown && (
        <Box component="pre" sx={CODE}>
          {narrow(shown.before)}
          <Box component="mark" sx={{ color: "text.primary" }}>
            {narrow(shown.words)}
          </Box>
          {narrow(shown.after)}
        </Box>
      )}
      {error && !data && <Failure what={`${cited.evidenceId} could not be loaded.`} error={error} />}
      <Typography variant="body2" sx={{ px: 1.5, py: 1, display: "flex", gap: 1, fontSize: "0.78rem", color: state === "failed" ? "warning.main" : "text.secondary" }}>
        <Box component="span" sx={{ pt: "2px" }}>
          <BadgeIcon badge={CITATION_BADGES[state]} size={14} />
        </Box>
        {describeCitation(state, checked?.reason)}
      </Typography>
    </>
  );
}

/** The call whose result the evidence is, as in `cluster.pods_log namespace=shop`, or its kind. */
export function evidenceSource({ id, server, tool, arguments: args }: Pick<EvidenceDetail, "id" | "server" | "tool" | "arguments">): string {
  if (tool === null) return id === "ALERT" ? "the alert" : id === "RUNBOOK" ? "the runbook" : "a note to the agents";
  return [server === null ? tool : `${server}.${tool}`, args === null ? "" : formatArguments(args)].join(" ").trim();
}
