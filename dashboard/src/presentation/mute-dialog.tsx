/** Asks for how long and why alerts are muted. */
import MenuItem from "@mui/material/MenuItem";
import TextField from "@mui/material/TextField";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useState } from "react";
import { ActionDialog } from "@/components/confirm-dialog";
import { serverTimeIn } from "@/components/times";

const HOURS = [1, 4, 12, 24, 72, 168] as const;

interface MuteDialogProps {
  title: string;
  text: string;
  width: "xs" | "sm";
  /** The hours that are preselected. */
  hours: (typeof HOURS)[number];
  mute: (ends: Date, reason: string) => Promise<unknown>;
  disabled?: boolean;
  onClose: () => void;
  /** Called also if the dialog was closed meanwhile. */
  onMuted: () => unknown;
  /** The fields that say what is muted. */
  children?: ReactNode;
}

export function MuteDialog({ hours: preselected, mute, onMuted, children, ...dialog }: MuteDialogProps) {
  const [hours, setHours] = useState<number>(preselected);
  const [reason, setReason] = useState("");
  const mutation = useMutation({ mutationFn: () => mute(serverTimeIn(hours * 3_600_000), reason.trim()), onSuccess: onMuted });
  return (
    <ActionDialog {...dialog} mutation={mutation} label="Mute" failure="It could not be muted.">
      {children}
      <TextField select size="small" label="For" value={hours} onChange={(event) => setHours(Number(event.target.value))}>
        {HOURS.map((choice) => (
          <MenuItem key={choice} value={choice}>
            {choice < 24 ? `${choice} h` : `${choice / 24} d`}
          </MenuItem>
        ))}
      </TextField>
      <TextField size="small" label="Reason" value={reason} onChange={(event) => setReason(event.target.value)} />
    </ActionDialog>
  );
}
