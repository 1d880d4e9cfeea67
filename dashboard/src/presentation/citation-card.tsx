/** What pointing at a citation shows: the quoted words where they stand, and what checking them found. */
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { evidence } from "@/api/evidence";
import { FaceIcon } from "@/components/badge";
import { MONO, ONE_LINE } from "@/components/text-styles";
import { formatClock } from "@/components/format";
import type { EvidenceDetail } from "@/wire/types";
import type { CheckedWords } from "./citation-states";
import { CITATION_FACES, foundWords } from "./citation-states";
import type { Cited } from "./citations";
import type { Surroundings } from "./evidence-place";
import { placeOf, surroundings, wordsIn } from "./evidence-place";
import { argumentsLine } from "./tool-lines";

interface CitationCardProps {
  sessionId: string;
  cited: Cited;
  checked: CheckedWords | null;
}

export function CitationCard({ sessionId, cited, checked }: CitationCardProps) {
  const { data } = useQuery({ ...evidence(sessionId, cited.evidenceId), retry: false });
  const state = checked?.status ?? "unchecked";
  const place = data && (checked ? placeOf(data, checked) : wordsIn(data, cited.quotation ?? ""));
  return (
    <>
      <Box sx={{ px: 1.5, py: 1, display: "flex", gap: 1, alignItems: "baseline", borderBottom: 1, borderColor: "divider" }}>
        <Box component="strong">{cited.evidenceId}</Box>
        <Box component="span" sx={{ ...ONE_LINE, flex: 1, fontFamily: MONO, fontSize: "0.75rem", color: "text.secondary" }}>
          {data && callLine(data)}
        </Box>
        {data?.read_at && <span>{formatClock(new Date(data.read_at))}</span>}
      </Box>
      {state === "failed" && cited.quotation !== null && <Quoted words={cited.quotation} />}
      {data && place && <Surrounded parts={surroundings(place.text, place)} caption={state === "failed" ? "The nearest real line" : null} />}
      <Typography variant="body2" sx={{ px: 1.5, py: 1, display: "flex", gap: 1, fontSize: "0.78rem", color: state === "failed" ? "warning.main" : "text.secondary" }}>
        <Box component="span" sx={{ pt: "2px" }}>
          <FaceIcon face={CITATION_FACES[state]} size={14} />
        </Box>
        {foundWords(state, checked?.reason)}
      </Typography>
    </>
  );
}

/** `cluster.pods_log namespace=shop`, or what else the evidence is. */
export function callLine({ id, server, tool, arguments: given }: Pick<EvidenceDetail, "id" | "server" | "tool" | "arguments">): string {
  if (tool === null) return id === "ALERT" ? "the alert" : id === "RUNBOOK" ? "the runbook" : "a note to the agents";
  return [server === null ? tool : `${server}.${tool}`, given === null ? "" : argumentsLine(given)].join(" ").trim();
}

const CODE = { m: 0, px: 1.5, py: 1, bgcolor: "code.block", fontFamily: MONO, fontSize: "0.75rem", lineHeight: 1.5, whiteSpace: "pre-wrap", overflowWrap: "anywhere", maxHeight: 260, overflow: "hidden", color: "text.secondary" } as const;

function Quoted({ words }: { words: string }) {
  return (
    <Box sx={{ px: 1.5, pt: 1, overflowWrap: "anywhere", color: "text.secondary" }}>
      Quoted: <Box component="s" sx={{ fontFamily: MONO, fontSize: "0.75rem" }}>{words}</Box>
    </Box>
  );
}

function Surrounded({ parts, caption }: { parts: Surroundings; caption: string | null }) {
  return (
    <>
      {caption && (
        <Typography variant="caption" color="textSecondary" sx={{ display: "block", px: 1.5, pt: 1, pb: 0.5 }}>
          {caption}
        </Typography>
      )}
      <Box component="pre" sx={CODE}>
        {narrowed(parts.before)}
        <Box component="mark" sx={{ color: "text.primary" }}>
          {narrowed(parts.words)}
        </Box>
        {narrowed(parts.after)}
      </Box>
    </>
  );
}

/** Tables are drawn with room that a glimpse does not have. */
function narrowed(text: string): string {
  return text.replace(/ {3,}/g, "  ");
}
