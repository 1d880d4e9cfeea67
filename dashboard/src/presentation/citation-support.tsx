/** The checked citations of the analysis: a summary that opens the list of them. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import Typography from "@mui/material/Typography";
import { ChevronRight } from "lucide-react";
import { use, useId, useState } from "react";
import { BadgeIcon } from "@/components/badge";
import { MONO } from "@/components/text-styles";
import { openEvidence } from "./cited-text";
import { CITATION_BADGES, describeCitation, EvidenceLinksContext, evidenceTarget, worstFirst } from "./evidence";
import { citationSummary } from "./verdict";
import type { Citation, CitationList, CitationSums } from "@/wire/types";

const PARTS = [
  ["verified", "success.main"],
  ["id_only", "text.disabled"],
  ["failed", "warning.main"],
] as const;

export function CitationSupport({ sums, checked }: { sums: CitationSums; checked: CitationList | undefined }) {
  const [open, setOpen] = useState(false);
  const list = useId();
  const line = citationSummary(sums);
  const listed = (checked?.citations.length ?? 0) + (checked?.remarks.length ?? 0) > 0;
  const tone = sums.failed > 0 || sums.verified === 0 ? "warning.main" : "text.secondary";
  return (
    <Box sx={{ borderTop: 1, borderColor: "divider", pt: 1.5 }}>
      <ButtonBase
        disabled={!listed}
        aria-expanded={open}
        aria-controls={list}
        onClick={() => setOpen(!open)}
        sx={{ display: "block", width: "100%", textAlign: "left", borderRadius: 1, "&:hover .support-line": { color: "text.primary" } }}
      >
        {sums.cited > 0 && (
          <Box aria-hidden sx={{ display: "flex", gap: "2px", height: 6, borderRadius: 3, overflow: "hidden", mb: 0.75 }}>
            {PARTS.map(([part, color]) => sums[part] > 0 && <Box key={part} sx={{ bgcolor: color }} style={{ flexGrow: sums[part] }} />)}
          </Box>
        )}
        <Typography className="support-line" variant="body2" component="span" sx={{ display: "flex", alignItems: "center", gap: 0.5, color: tone }}>
          {line}
          {listed && (
            <Box component="span" sx={{ display: "inline-flex", transform: open ? "rotate(90deg)" : "none" }}>
              <ChevronRight size={15} aria-hidden />
            </Box>
          )}
        </Typography>
      </ButtonBase>
      <Box id={list}>
        {open && checked && (
          <Box component="ul" aria-label="Citations" sx={{ listStyle: "none", m: 0, mt: 1, p: 0 }}>
            {worstFirst(checked.citations).map((citation, index) => (
              <Row key={index} citation={citation} />
            ))}
          </Box>
        )}
        {open && checked && checked.remarks.length > 0 && <Remarks remarks={checked.remarks} />}
      </Box>
    </Box>
  );
}

const ROW = { display: "grid", gridTemplateColumns: "18px 44px minmax(0, 1fr)", gap: 1, px: 1, py: 0.6, mx: -1, borderRadius: 1, color: "text.primary", textDecoration: "none", fontSize: "0.8125rem", alignItems: "baseline", "&:hover": { bgcolor: "action.hover" } } as const;

function Row({ citation }: { citation: Citation }) {
  const links = use(EvidenceLinksContext);
  const target = evidenceTarget(citation.evidence_id, citation.quotation);
  return (
    <li>
      <Box component="a" href={links?.hrefOf(target)} onClick={(event) => links && openEvidence(event, links.open, target)} sx={ROW}>
        <Box component="span" sx={{ alignSelf: "center" }}>
          <BadgeIcon badge={CITATION_BADGES[citation.status]} size={14} />
        </Box>
        <strong>{citation.evidence_id}</strong>
        <Box component="span" sx={{ overflowWrap: "anywhere" }}>
          {citation.quotation !== null && <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.92em" }}>{citation.quotation} </Box>}
          <Box component="span" sx={{ color: citation.status === "failed" ? "warning.main" : "text.secondary" }}>{describeCitation(citation.status, citation.reason)}</Box>
          {citation.nearest !== "" && (
            <Box component="span" sx={{ display: "block", color: "text.secondary" }}>
              The nearest real line: <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.92em" }}>{citation.nearest}</Box>
            </Box>
          )}
        </Box>
      </Box>
    </li>
  );
}

// Failures come first: the agent could have corrected them.
const SEVERITIES = {
  failure: { title: "Statements that failed the check", color: "warning.main" },
  remark: { title: "Remarks", color: "text.secondary" },
} satisfies Record<CitationList["remarks"][number]["severity"], { title: string; color: string }>;

function Remarks({ remarks }: { remarks: CitationList["remarks"] }) {
  const id = useId();
  return Object.entries(SEVERITIES).map(([severity, { title, color }]) => {
    const some = remarks.filter((remark) => remark.severity === severity);
    return (
      some.length > 0 && (
        <Box key={severity} sx={{ mt: 1.5 }}>
          <Typography id={id + severity} variant="caption" color="textSecondary">
            {title}
          </Typography>
          <Box component="ul" aria-labelledby={id + severity} sx={{ m: 0, pl: 2.5 }}>
            {some.map(({ statement, complaint }, index) => (
              <Typography key={index} component="li" variant="body2" sx={{ overflowWrap: "anywhere" }}>
                {statement} <Box component="span" sx={{ color }}>{complaint}</Box>
              </Typography>
            ))}
          </Box>
        </Box>
      )
    );
  });
}
