/** The quotations from one result, to look at one after another. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import { FaceIcon } from "@/components/badge";
import { clamped, MONO } from "@/components/text-styles";
import { CITATION_FACES, foundWords } from "@/presentation/citation-states";
import type { Citation } from "@/wire/types";

interface QuotationsProps {
  citations: readonly Citation[];
  shown: Citation | null;
  onChoose: (quotation: string | null) => void;
}

export function Quotations({ citations, shown, onChoose }: QuotationsProps) {
  const different = [...new Map(citations.map((one) => [one.quotation, one])).values()];
  return (
    <Box component="ul" aria-label="Quotations" sx={{ listStyle: "none", m: 0, p: 0, flexShrink: 0, maxHeight: "34%", overflow: "auto" }}>
      {different.map((one) => (
        <li key={one.quotation ?? ""}>
          <Quotation citation={one} isShown={one.quotation === shown?.quotation} onChoose={() => onChoose(one.quotation)} />
        </li>
      ))}
    </Box>
  );
}

const ROW = { width: "100%", display: "grid", gridTemplateColumns: "18px minmax(0, 1fr)", columnGap: 0.75, px: 1, py: 0.5, borderRadius: 1, textAlign: "left", alignItems: "baseline", fontSize: "0.8rem", "&:hover": { bgcolor: "action.hover" }, "&[aria-current]": { bgcolor: "action.selected" } } as const;

function Quotation({ citation, isShown, onChoose }: { citation: Citation; isShown: boolean; onChoose: () => void }) {
  const isFine = citation.status === "quote_found";
  return (
    <ButtonBase onClick={onChoose} aria-current={isShown ? "true" : undefined} sx={ROW}>
      <Box component="span" sx={{ alignSelf: "start", pt: "3px" }}>
        <FaceIcon face={CITATION_FACES[citation.status]} size={14} />
      </Box>
      <span>
        <Box component="span" sx={{ ...clamped(2), fontFamily: MONO, fontSize: "0.76rem" }}>
          {citation.quotation ?? "named without a quotation"}
        </Box>
        {!isFine && (
          <Box component="span" sx={{ color: citation.status === "failed" ? "warning.main" : "text.secondary" }}>
            {foundWords(citation.status, citation.reason)}
            {citation.nearest !== "" && isShown && " The nearest real line is marked below."}
          </Box>
        )}
      </span>
    </ButtonBase>
  );
}
