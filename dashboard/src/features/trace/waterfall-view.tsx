/** The calls as bars on a time axis. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import Typography from "@mui/material/Typography";
import { Brain, CircleX, Wrench } from "lucide-react";
import { memo, useEffect, useMemo, useRef, useState } from "react";
import { FaceIcon } from "@/components/badge";
import type { Face } from "@/components/badge";
import { MONO, ONE_LINE } from "@/components/text-styles";
import { formatCount, formatDuration, plural } from "@/components/format";
import { Spoken } from "@/components/spoken";
import type { ExecutionView } from "@/wire/types";
import type { Call, Waterfall } from "./waterfall";
import { shownCalls } from "./waterfall";

const FACES = {
  llm: { label: "Model", tone: "running", icon: Brain },
  mcp: { label: "Tool", tone: "good", icon: Wrench },
} satisfies Record<Call["kind"], Face>;
const FAILED: Face = { label: "Failed", tone: "bad", icon: CircleX };

const COLUMNS = { xs: "18px minmax(0, 1fr) 64px", sm: "18px minmax(120px, 230px) minmax(0, 1fr) 64px" };

export function WaterfallView({ flow, selected, onSelect }: { flow: Waterfall; selected: string | undefined; onSelect: (call: string) => void }) {
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const several = new Set(flow.calls.map((call) => call.agent)).size > 1;
  const shown = useMemo(() => shownCalls(flow.calls, folded), [flow.calls, folded]);
  const toggle = (key: string) => {
    setFolded((before) => {
      const after = new Set(before);
      if (!after.delete(key)) after.add(key);
      return after;
    });
  };
  return (
    <Box component="ol" aria-label="Calls" sx={{ listStyle: "none", m: 0, p: 0 }}>
      {shown.map((call, index) => {
        const before = shown[index - 1];
        return (
          <Box component="li" key={call.key} sx={call.within ? { ml: 2, borderLeft: 2, borderColor: "divider" } : {}}>
            {several && (call.agent !== before?.agent || call.within !== before.within) && <Agent call={call} onSelect={onSelect} />}
            <Row call={call} span={flow.span} selected={call.key === selected} onSelect={onSelect} />
            {call.sent && <Sent sent={call.sent} folded={folded.has(call.key)} count={flow.calls.filter((one) => one.within === call.key).length} onToggle={() => toggle(call.key)} />}
          </Box>
        );
      })}
    </Box>
  );
}

function Agent({ call, onSelect }: { call: Call; onSelect: (call: string) => void }) {
  const { within } = call;
  return (
    <Typography variant="caption" component="div" color="textSecondary" sx={{ px: 1.5, pt: 1 }}>
      {call.agent}
      {within && (
        <ButtonBase onClick={() => onSelect(within)} sx={{ font: "inherit", ml: 1, textDecoration: "underline" }}>
          the call that sent it
        </ButtonBase>
      )}
    </Typography>
  );
}

function Sent({ sent, folded, count, onToggle }: { sent: ExecutionView; folded: boolean; count: number; onToggle: () => void }) {
  return (
    <Typography variant="caption" component="div" color="textSecondary" sx={{ px: 1.5, pb: 0.5, pl: 5, overflowWrap: "anywhere" }}>
      {`${sent.agent_name}: ${sent.task ?? ""} `}
      <ButtonBase onClick={onToggle} aria-expanded={!folded} sx={{ font: "inherit", textDecoration: "underline" }}>
        {`${folded ? "Show" : "Hide"} its ${plural(count, "call")}`}
      </ButtonBase>
    </Typography>
  );
}

// There may be thousands, of which a choice changes two.
const Row = memo(function Row({ call, span, selected, onSelect }: { call: Call; span: number; selected: boolean; onSelect: (call: string) => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (selected) button.current?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  const face = call.failed ? FAILED : FACES[call.kind];
  const color = call.failed ? "error.main" : call.kind === "llm" ? "info.main" : "success.main";
  const percent = (ms: number) => `${(100 * ms) / span}%`;
  return (
    <ButtonBase
      ref={button}
      onClick={() => onSelect(call.key)}
      aria-pressed={selected}
      sx={{ display: "grid", gridTemplateColumns: COLUMNS, columnGap: 1, width: "100%", textAlign: "left", alignItems: "center", px: 1.5, py: 0.6, bgcolor: selected ? "action.selected" : "transparent", "&:hover": { bgcolor: "action.hover" } }}
    >
      <FaceIcon face={face} size={14} />
      <Box component="span" sx={{ ...ONE_LINE, fontSize: "0.8rem", fontFamily: call.kind === "mcp" ? MONO : "inherit" }}>
        <Spoken>{face.label}</Spoken>
        {`${call.label} `}
        {call.tokens !== null && (
          <Typography component="span" variant="caption" color="textSecondary" sx={{ ml: 0.75 }}>
            {formatCount(call.tokens)} tokens
          </Typography>
        )}
      </Box>
      <Box component="span" sx={{ position: "relative", height: 12, display: { xs: "none", sm: "block" }, bgcolor: "code.inline", borderRadius: 0.5 }}>
        <Box component="span" sx={{ position: "absolute", top: 0, bottom: 0, minWidth: 3, bgcolor: color, borderRadius: 0.5, overflow: "hidden" }} style={{ left: percent(call.start), width: percent(call.duration) }}>
          {call.firstChunk !== null && <Box component="span" title="until the first word" sx={{ position: "absolute", inset: 0, right: "auto", bgcolor: "background.paper", opacity: 0.55 }} style={{ width: `${(100 * call.firstChunk) / Math.max(1, call.duration)}%` }} />}
        </Box>
      </Box>
      <Typography component="span" variant="caption" color="textSecondary" sx={{ textAlign: "right", fontVariantNumeric: "tabular-nums" }}>
        {formatDuration(call.duration)}
      </Typography>
    </ButtonBase>
  );
});
