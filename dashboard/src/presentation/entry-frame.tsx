/** The frame of a timeline entry: icon, title, time, link and fork buttons, and a body that may be folded. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import IconButton from "@mui/material/IconButton";
import Tooltip from "@mui/material/Tooltip";
import Typography from "@mui/material/Typography";
import { ChevronRight, GitFork, Link2 } from "lucide-react";
import type { ReactNode } from "react";
import { use, useId, useState } from "react";
import type { BadgeStyle } from "@/components/badge";
import { BadgeIcon } from "@/components/badge";
import { CopyIcon } from "@/components/copy-button";
import { formatClock, formatExact } from "@/components/format";
import { ONE_LINE } from "@/components/text-styles";
import { EntryEventContext, ForkActionsContext } from "./forks";

interface EntryFrameProps {
  badge: BadgeStyle;
  title: ReactNode;
  /** Small text beside the title: duration, status, size. */
  note?: ReactNode;
  /** The beginning of a folded body. */
  excerpt?: string;
  at: string;
  /** Puts a link to this entry into the address bar, and returns it to be copied. */
  onLink?: (() => string) | undefined;
  highlighted?: boolean;
  folding?: { open: boolean; onToggle: () => void };
  /** Shown also while the body is folded. */
  preview?: ReactNode;
  children?: ReactNode;
}

const FRAME = {
  display: "grid",
  gridTemplateColumns: "26px minmax(0, 1fr)",
  columnGap: 0.5,
  pl: { xs: 1, sm: 2 },
  pr: { xs: 1, sm: 1.5 },
  py: 0.4,
  "&:hover .entry-link, &:focus-within .entry-link": { opacity: 1 },
} as const;

/** A button that is visible while the entry has the pointer or the focus. */
const QUIET = { opacity: 0, width: 24, height: 24, p: 0, my: "-2px", alignSelf: "center", "@media (hover: none)": { opacity: 1 } } as const;

export function EntryFrame({ badge, title, note, excerpt, at, onLink, highlighted = false, folding, preview, children }: EntryFrameProps) {
  const body = useId();
  const moment = new Date(at);
  const head = (
    <Box component="span" sx={{ display: "flex", alignItems: "baseline", gap: 1, minWidth: 0 }}>
      <Box component="span" sx={{ ...ONE_LINE, fontWeight: 600, textAlign: "left" }}>
        {title}
      </Box>
      {note && (
        <Typography component="span" variant="caption" color="textSecondary" sx={{ whiteSpace: "nowrap" }}>
          {note}
        </Typography>
      )}
    </Box>
  );
  return (
    <Box sx={{ ...FRAME, ...(highlighted ? { bgcolor: "code.inline", boxShadow: "inset 3px 0 0 var(--mui-palette-primary-main)" } : {}) }}>
      <Box sx={{ pt: "3px" }}>
        <BadgeIcon badge={badge} />
      </Box>
      <Box sx={{ minWidth: 0 }}>
        <Box sx={{ display: "flex", alignItems: "baseline", gap: 1, fontSize: "0.875rem" }}>
          {folding ? (
            <ButtonBase
              onClick={folding.onToggle}
              aria-expanded={folding.open}
              aria-controls={body}
              sx={{ flex: 1, minWidth: 0, minHeight: 24, justifyContent: "flex-start", font: "inherit", alignItems: "baseline", borderRadius: 0.5 }}
            >
              {head}
              <Box component="span" sx={{ alignSelf: "center", display: "inline-flex", ml: 0.5, color: "text.secondary", transform: folding.open ? "rotate(90deg)" : "none" }}>
                <ChevronRight size={15} aria-hidden />
              </Box>
            </ButtonBase>
          ) : (
            <Box sx={{ flex: 1, minWidth: 0 }}>{head}</Box>
          )}
          {onLink && <CopyIcon className="entry-link" text={onLink} label="Copy a link to this entry" icon={<Link2 size={14} />} sx={QUIET} />}
          <EntryForkButton />
          <Typography component="time" dateTime={at} title={formatExact(moment)} variant="caption" color="textSecondary" sx={{ fontVariantNumeric: "tabular-nums", display: { xs: "none", sm: "inline" } }}>
            {formatClock(moment)}
          </Typography>
        </Box>
        {excerpt && folding?.open === false && (
          <Typography variant="body2" color="textSecondary" dir="auto" sx={{ ...ONE_LINE, fontSize: "0.8125rem" }}>
            {excerpt}
          </Typography>
        )}
        {preview}
        <Box id={body}>{(!folding || folding.open) && children}</Box>
      </Box>
    </Box>
  );
}

function EntryForkButton() {
  const event = use(EntryEventContext);
  const actions = use(ForkActionsContext);
  const executionId = event?.execution_id;
  if (!actions || !event || !executionId) return null;
  const refusal = actions.refusal(executionId);
  // `aria-disabled` instead of `disabled`: the tooltip with the reason must open on hover and focus.
  return (
    <Tooltip title={refusal ?? "Fork from here"} describeChild={refusal !== null} enterTouchDelay={refusal === null ? 700 : 0}>
      <IconButton
        className="entry-link"
        size="small"
        aria-label="Fork from here"
        aria-disabled={refusal !== null}
        onClick={() => refusal === null && actions.open({ executionId, at: event.created_at })}
        sx={{ ...QUIET, ...(refusal === null ? {} : { color: "text.disabled", cursor: "not-allowed" }) }}
      >
        <GitFork size={14} />
      </IconButton>
    </Tooltip>
  );
}

/** Open by default or not, until the user toggles it. */
export function useFolding(openByDefault: boolean): { open: boolean; onToggle: () => void } {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = chosen ?? openByDefault;
  return { open, onToggle: () => setChosen(!open) };
}
