/** One citation: the quoted words, the id of the result, and whether they are really there. */
import Tooltip from "@mui/material/Tooltip";
import type { MouseEvent } from "react";
import { use } from "react";
import { Spoken } from "@/components/spoken";
import { CitationCard } from "./citation-card";
import type { CheckedWords } from "./citation-states";
import { CITATION_FACES } from "./citation-states";
import type { Cited } from "./citations";
import { addressOf, EvidenceDoorContext } from "./evidence-door";

// A sentence holds this much; the rest is seen by pointing at it.
const LONGEST_SHOWN = 110;

/** `checked`: what checking found, null where it was not done. */
export function CitationChip({ cited, checked }: { cited: Cited; checked: CheckedWords | null }) {
  const door = use(EvidenceDoorContext);
  const { evidenceId, quotation } = cited;
  if (!door) return `[${evidenceId}]`;
  const state = checked?.status ?? "unchecked";
  const face = CITATION_FACES[state];
  const address = addressOf(evidenceId, quotation);
  const open = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    door.open(address);
  };
  return (
    <Tooltip title={<CitationCard sessionId={door.sessionId} cited={cited} checked={checked} />} slotProps={CARD} enterDelay={250} describeChild>
      <a className="citation" data-state={state} href={door.hrefOf(address)} onClick={open}>
        {quotation !== null && (
          <>
            <q>{clipped(quotation)}</q>{" "}
          </>
        )}
        <span className="citation-id">
          <face.icon size={11} aria-hidden />
          {evidenceId}
          <Spoken>{`(${face.label.toLowerCase()})`}</Spoken>
        </span>
      </a>
    </Tooltip>
  );
}

function clipped(quotation: string): string {
  const line = quotation.replace(/\s+/g, " ");
  return line.length > LONGEST_SHOWN ? `${line.slice(0, LONGEST_SHOWN - 1)}…` : line;
}

const CARD = {
  tooltip: {
    sx: { maxWidth: 560, p: 0, bgcolor: "background.paper", color: "text.primary", border: 1, borderColor: "divider", boxShadow: 6, fontWeight: 400, fontSize: "0.8125rem", overflow: "hidden" },
  },
} as const;
