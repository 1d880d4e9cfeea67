/** The evidence that a citation leads to, with the quoted words marked: beside the text on a wide screen, in a drawer on a small one. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import IconButton from "@mui/material/IconButton";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Tooltip from "@mui/material/Tooltip";
import Typography from "@mui/material/Typography";
import { useIsFetching, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link2, ListTree, X } from "lucide-react";
import type { KeyboardEvent, ReactNode } from "react";
import { useEffect, useId, useRef } from "react";
import { citationsKey, evidenceDetail } from "@/api/evidence";
import { BadgeIcon } from "@/components/badge";
import { BottomDrawer } from "@/components/bottom-drawer";
import { CopyIcon } from "@/components/copy-button";
import { DataView } from "@/components/data-view";
import { formatExact } from "@/components/format";
import { SESSION_HEADER_PX } from "@/components/page";
import { Failure, Loading } from "@/components/states";
import { clamped, MONO } from "@/components/text-styles";
import { evidenceSource } from "@/presentation/cited-text";
import type { EvidenceTarget } from "@/presentation/evidence";
import { CITATION_BADGES, citedRange, describeCitation, findQuote } from "@/presentation/evidence";
import { MetricChart } from "@/presentation/metric-chart";
import { evidenceIdOf } from "@/presentation/timeline-rows";
import type { Citation, CitationList, EvidenceDetail, TimelineEvent, TimelineEventType } from "@/wire/types";

interface EvidencePanelProps {
  sessionId: string;
  target: EvidenceTarget;
  /** The checked citations of the session. */
  citations: readonly Citation[];
  onTarget: (target: EvidenceTarget) => void;
  onClose: () => void;
  /** The address of the panel with this evidence. */
  link: string;
  /** Scrolls to the call in the timeline; undefined if it is not there. */
  onTimeline: (() => void) | undefined;
}

export function EvidenceSidePanel(props: EvidencePanelProps) {
  const label = useId();
  const panel = useFocusWhileOpen(props.target.evidence);
  return (
    <Paper
      component="aside"
      ref={panel}
      tabIndex={-1}
      aria-labelledby={label}
      variant="outlined"
      onKeyDown={(event: KeyboardEvent) => event.key === "Escape" && props.onClose()}
      sx={{ height: `calc(100vh - ${SESSION_HEADER_PX + 16}px)`, display: "flex", flexDirection: "column", outline: "none", minWidth: 0 }}
    >
      <Panel {...props} label={label} />
    </Paper>
  );
}

export function EvidenceDrawer(props: EvidencePanelProps) {
  const label = useId();
  return (
    <BottomDrawer open labelledBy={label} onClose={props.onClose}>
      <Panel {...props} label={label} />
    </BottomDrawer>
  );
}

/** Focuses the panel, and the previously focused element again when it closes. */
function useFocusWhileOpen(evidenceId: string) {
  const panel = useRef<HTMLDivElement>(null);
  const before = useRef<Element | null>(null);
  useEffect(() => {
    before.current = document.activeElement;
    return () => {
      if (before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => panel.current?.focus({ preventScroll: true }), [evidenceId]);
  return panel;
}

function Panel({ sessionId, target, citations, label, onTarget, onClose, link, onTimeline }: EvidencePanelProps & { label: string }) {
  const { evidence, quote } = target;
  const { data, error, isPending, refetch } = useQuery(evidenceDetail(sessionId, evidence));
  const own = citations.filter((citation) => citation.evidence_id === evidence);
  const shown = shownCitation(own, quote);
  return (
    <>
      <Box sx={{ display: "flex", alignItems: "flex-start", gap: 0.5, pl: 2, pr: 1, py: 1, borderBottom: 1, borderColor: "divider" }}>
        <Box sx={{ flex: 1, minWidth: 0 }}>
          <Typography id={label} variant="h2">
            Evidence {evidence}
          </Typography>
          {data && (
            <>
              <Typography sx={{ fontFamily: MONO, fontSize: "0.78rem", overflowWrap: "anywhere" }}>{evidenceSource(data)}</Typography>
              <Typography variant="caption" color={data.refused || data.is_error ? "warning.main" : "textSecondary"}>
                {[data.refused ? "The call was refused: it shows nothing" : data.is_error ? "The call failed" : null, data.read_at && `read ${formatExact(new Date(data.read_at))}`].filter(Boolean).join("; ")}
              </Typography>
            </>
          )}
        </Box>
        {onTimeline && <Action label="Show in the timeline" icon={<ListTree size={16} />} onClick={onTimeline} />}
        <CopyIcon text={link} label="Copy a link to this result" icon={<Link2 size={16} />} />
        <Action label="Close" icon={<X size={18} />} onClick={onClose} />
      </Box>
      {isPending && <Loading what="the result" />}
      {error && (
        <Box sx={{ p: 2 }}>
          <Failure what={`${evidence} could not be shown.`} error={error} onRetry={() => void refetch()} />
        </Box>
      )}
      {data && (
        <Stack sx={{ flex: 1, minHeight: 0, p: 1.5, gap: 1.5 }}>
          {own.length > 0 && <Quotations citations={own} shown={shown} onChoose={(quotation) => onTarget({ evidence, ...(quotation === null ? {} : { quote: quotation }) })} />}
          <Box sx={{ flexShrink: 0, maxHeight: "60%", overflow: "auto" }}>
            <MetricChart text={data.text} />
          </Box>
          <EvidenceText key={`${data.id} ${quote ?? ""}`} data={data} citation={shown} quote={quote} />
        </Stack>
      )}
    </>
  );
}

function Action({ label, icon, onClick }: { label: string; icon: ReactNode; onClick: () => void }) {
  return (
    <Tooltip title={label}>
      <IconButton size="small" aria-label={label} onClick={onClick}>
        {icon}
      </IconButton>
    </Tooltip>
  );
}

function EvidenceText({ data, citation, quote }: { data: EvidenceDetail; citation: Citation | null; quote: string | undefined }) {
  if (data.text === "") return <Typography color="textSecondary">The result is empty.</Typography>;
  const range = citation ? citedRange(data, citation) : findQuote(data, quote ?? "");
  const label = data.tool === null ? "Text" : "Result";
  return <DataView text={range?.text ?? data.text} label={range?.isFolded ? `${label} as the agent saw it, repetitions folded` : label} mark={range} fill />;
}

/** The citation of a link; for a link without a quote, the first citation with a quotation. */
function shownCitation(own: readonly Citation[], quote: string | undefined): Citation | null {
  if (quote === undefined) return own.find(({ quotation }) => quotation !== null) ?? null;
  return own.find(({ quotation }) => quotation === quote) ?? own.find(({ quotation }) => quotation?.startsWith(quote)) ?? null;
}

const ROW = { width: "100%", display: "grid", gridTemplateColumns: "18px minmax(0, 1fr)", columnGap: 0.75, px: 1, py: 0.5, borderRadius: 1, textAlign: "left", alignItems: "baseline", fontSize: "0.8rem", "&:hover": { bgcolor: "action.hover" }, "&[aria-current]": { bgcolor: "action.selected" } } as const;

interface QuotationsProps {
  citations: readonly Citation[];
  shown: Citation | null;
  onChoose: (quotation: string | null) => void;
}

/** The different quotations of the evidence, to choose the marked one. */
function Quotations({ citations, shown, onChoose }: QuotationsProps) {
  const different = [...new Map(citations.map((citation) => [citation.quotation, citation])).values()];
  return (
    <Box component="ul" aria-label="Quotations" sx={{ listStyle: "none", m: 0, p: 0, flexShrink: 0, maxHeight: "34%", overflow: "auto" }}>
      {different.map(({ quotation, status, reason, nearest }) => {
        const isShown = quotation === shown?.quotation;
        return (
          <li key={quotation ?? ""}>
            <ButtonBase onClick={() => onChoose(quotation)} aria-current={isShown ? "true" : undefined} sx={ROW}>
              <Box component="span" sx={{ alignSelf: "start", pt: "3px" }}>
                <BadgeIcon badge={CITATION_BADGES[status]} size={14} />
              </Box>
              <span>
                <Box component="span" sx={{ ...clamped(2), fontFamily: MONO, fontSize: "0.76rem" }}>
                  {quotation ?? "named without a quotation"}
                </Box>
                {status !== "quote_found" && (
                  <Box component="span" sx={{ color: status === "failed" ? "warning.main" : "text.secondary" }}>
                    {describeCitation(status, reason)}
                    {nearest !== "" && isShown && " The nearest real line is marked below."}
                  </Box>
                )}
              </span>
            </ButtonBase>
          </li>
        );
      })}
    </Box>
  );
}

/** The loaded citations: those of the analysis, and of every answer that was shown. */
export function useLoadedCitations(sessionId: string): Citation[] {
  const client = useQueryClient();
  const queryKey = citationsKey(sessionId);
  // Renders again when another list has been loaded.
  useIsFetching({ queryKey });
  return client.getQueriesData<CitationList>({ queryKey }).flatMap(([, list]) => list?.citations ?? []);
}

const EVIDENCE_EVENTS: ReadonlySet<TimelineEventType> = new Set(["tool_result", "note"]);

/** The event of the timeline that has the evidence. */
export function evidenceEvent(events: readonly TimelineEvent[], evidenceId: string): TimelineEvent | undefined {
  return events.findLast((event) => evidenceIdOf(event) === evidenceId && EVIDENCE_EVENTS.has(event.event_type));
}
