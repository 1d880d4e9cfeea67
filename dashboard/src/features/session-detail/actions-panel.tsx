/** What the session changed, or would have: each call, who approved it, its outcome, and whether the symptom was gone afterwards. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { CircleCheck, CircleHelp, CircleSlash, CircleX, FlaskConical, Hand } from "lucide-react";
import type { BadgeStyle } from "@/components/badge";
import { Badge } from "@/components/badge";
import { Section } from "@/components/section";
import { MONO } from "@/components/text-styles";
import type { Action, ActionOutcome, SessionDetail, Verified } from "@/wire/types";

const OUTCOMES = {
  succeeded: { label: "Succeeded", tone: "good", icon: CircleCheck },
  failed: { label: "Failed", tone: "bad", icon: CircleX },
  not_run: { label: "Not run", tone: "neutral", icon: CircleSlash },
  dry_run: { label: "Dry run", tone: "neutral", icon: FlaskConical },
  unknown: { label: "Outcome unknown", tone: "warning", icon: CircleHelp },
  pending: { label: "Not decided, or running", tone: "warning", icon: Hand },
} satisfies Record<ActionOutcome, BadgeStyle>;

const VERIFIED: Record<Verified, string> = {
  yes: "The symptom is gone.",
  no: "The symptom persists.",
  unknown: "Not verified.",
};

export function ActionsPanel({ actions, actions_left_out: leftOut }: Pick<SessionDetail, "actions" | "actions_left_out">) {
  if (actions.length === 0 && leftOut.length === 0) return null;
  return (
    <Section title="Actions">
      <Stack spacing={1}>
        {actions.map((one) => (
          <ActionRow key={one.evidence_id} action={one} />
        ))}
        {leftOut.map((sentence) => (
          <Typography key={sentence} variant="body2">
            {sentence}
          </Typography>
        ))}
      </Stack>
    </Section>
  );
}

function ActionRow({ action: { call, outcome, approved_by: approvedBy, verified } }: { action: Action }) {
  const hasRun = outcome === "succeeded" || outcome === "failed" || outcome === "unknown";
  return (
    <Box>
      <Typography sx={{ fontFamily: MONO, fontSize: "0.85rem", overflowWrap: "anywhere" }}>{call}</Typography>
      <Typography variant="body2" color="textSecondary">
        <Badge badge={OUTCOMES[outcome]} /> {approvedBy && `Approved by ${approvedBy}. `}
        {hasRun && VERIFIED[verified]}
      </Typography>
    </Box>
  );
}
