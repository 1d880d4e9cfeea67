/** A result that is cited, at the quoted words: beside the text where there is room, over it where there is none. */
import Box from "@mui/material/Box";
import Drawer from "@mui/material/Drawer";
import IconButton from "@mui/material/IconButton";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Tooltip from "@mui/material/Tooltip";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { Link2, ListTree, X } from "lucide-react";
import type { KeyboardEvent, ReactNode } from "react";
import { useEffect, useId, useRef } from "react";
import { evidence as evidenceOf } from "@/api/evidence";
import { DataView } from "@/components/data-view";
import { Failure, Loading } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { callLine } from "@/presentation/citation-card";
import type { EvidenceAddress } from "@/presentation/evidence-door";
import { momentOf } from "@/presentation/verdict";
import type { Citation, EvidenceDetail } from "@/wire/types";
import { Quotations } from "./quotations";
import { shownCitation, shownPlace } from "./shown-quotation";

interface EvidencePanelProps {
  sessionId: string;
  address: EvidenceAddress;
  /** What is known of citations in this session. */
  citations: readonly Citation[];
  onAddress: (address: EvidenceAddress) => void;
  onClose: () => void;
  onCopyLink: () => void;
  /** Shows the call in the timeline, where it is there. */
  onTimeline: (() => void) | undefined;
}

// Below the sticky header of the session.
const TOP_PX = 64;

/** Beside the text. */
export function EvidenceAside(props: EvidencePanelProps) {
  const label = useId();
  const panel = useFocusWhileOpen(props.address.evidence);
  return (
    <Paper
      component="aside"
      ref={panel}
      tabIndex={-1}
      aria-labelledby={label}
      variant="outlined"
      onKeyDown={(event: KeyboardEvent) => event.key === "Escape" && props.onClose()}
      sx={{ height: `calc(100vh - ${TOP_PX + 16}px)`, display: "flex", flexDirection: "column", outline: "none", minWidth: 0 }}
    >
      <Panel {...props} label={label} />
    </Paper>
  );
}

/** Over the text, from below. */
export function EvidenceSheet(props: EvidencePanelProps) {
  const label = useId();
  return (
    <Drawer
      open
      anchor="bottom"
      onClose={props.onClose}
      slotProps={{ paper: { "aria-labelledby": label, role: "dialog", sx: { height: "85dvh", borderTopLeftRadius: 12, borderTopRightRadius: 12, display: "flex", flexDirection: "column" } } }}
    >
      <Panel {...props} label={label} />
    </Drawer>
  );
}

/** The panel takes the focus, and gives it back to the citation it was opened from. */
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

function Panel({ sessionId, address, citations, label, onAddress, onClose, onCopyLink, onTimeline }: EvidencePanelProps & { label: string }) {
  const { data, error, isPending, refetch } = useQuery({ ...evidenceOf(sessionId, address.evidence), retry: false });
  const own = citations.filter((one) => one.evidence_id === address.evidence);
  return (
    <>
      <Head address={address} label={label} data={data} onClose={onClose}>
        {onTimeline && <Action label="Show in the timeline" icon={<ListTree size={16} />} onClick={onTimeline} />}
        <Action label="Copy a link to this result" icon={<Link2 size={16} />} onClick={onCopyLink} />
      </Head>
      {isPending && <Loading what="the result" />}
      {error && (
        <Box sx={{ p: 2 }}>
          <Failure what={`${address.evidence} could not be shown.`} error={error} onRetry={() => void refetch()} />
        </Box>
      )}
      {data && (
        <Stack sx={{ flex: 1, minHeight: 0, p: 1.5, gap: 1.5 }}>
          {own.length > 0 && <Quotations citations={own} shown={shownCitation(own, address.quote)} onChoose={(quote) => onAddress({ evidence: address.evidence, ...(quote === null ? {} : { quote }) })} />}
          <Text key={`${data.id} ${address.quote ?? ""}`} data={data} citations={own} quote={address.quote} />
        </Stack>
      )}
    </>
  );
}

function Text({ data, citations, quote }: { data: EvidenceDetail; citations: readonly Citation[]; quote: string | undefined }) {
  if (data.text === "") return <Typography color="textSecondary">The result is empty.</Typography>;
  const place = shownPlace(data, citations, quote);
  const label = data.tool === null ? "Text" : "Result";
  return <DataView text={place?.text ?? data.text} label={place?.isFolded ? `${label} as the agent saw it, repetitions folded` : label} mark={place} fill />;
}

interface HeadProps {
  address: EvidenceAddress;
  label: string;
  data: EvidenceDetail | undefined;
  onClose: () => void;
  children: ReactNode;
}

function Head({ address, label, data, onClose, children }: HeadProps) {
  return (
    <Box sx={{ display: "flex", alignItems: "flex-start", gap: 0.5, pl: 2, pr: 1, py: 1, borderBottom: 1, borderColor: "divider" }}>
      <Box sx={{ flex: 1, minWidth: 0 }}>
        <Typography id={label} variant="h2">
          Evidence {address.evidence}
        </Typography>
        {data && (
          <>
            <Typography sx={{ fontFamily: MONO, fontSize: "0.78rem", overflowWrap: "anywhere" }}>{callLine(data)}</Typography>
            <Typography variant="caption" color={data.refused || data.is_error ? "warning.main" : "textSecondary"}>
              {[data.refused ? "The call was refused: it shows nothing" : data.is_error ? "The call failed" : null, data.read_at && `read ${momentOf(data.read_at)?.shown ?? data.read_at}`].filter(Boolean).join("; ")}
            </Typography>
          </>
        )}
      </Box>
      {children}
      <Action label="Close" icon={<X size={18} />} onClick={onClose} />
    </Box>
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
