/** Buttons of which one is chosen. */
import type { SxProps, Theme } from "@mui/material/styles";
import ToggleButton from "@mui/material/ToggleButton";
import ToggleButtonGroup from "@mui/material/ToggleButtonGroup";
import type { ReactNode } from "react";

interface TogglesProps<Value extends string> {
  label: string;
  options: Readonly<Record<Value, ReactNode>>;
  value: Value | null;
  onValue: (value: Value) => void;
  disabled?: boolean;
  /** The style of each button. */
  sx?: SxProps<Theme>;
}

export function Toggles<Value extends string>({ label, options, value, onValue, disabled = false, sx = {} }: TogglesProps<Value>) {
  return (
    <ToggleButtonGroup exclusive size="small" aria-label={label} value={value} disabled={disabled} onChange={(_, chosen: Value | null) => chosen !== null && onValue(chosen)}>
      {Object.entries<ReactNode>(options).map(([name, content]) => (
        <ToggleButton key={name} value={name} sx={sx}>
          {content}
        </ToggleButton>
      ))}
    </ToggleButtonGroup>
  );
}
