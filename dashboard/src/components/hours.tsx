/** For how long: the few lengths that people choose. */
import MenuItem from "@mui/material/MenuItem";
import TextField from "@mui/material/TextField";

const CHOICES = [1, 4, 12, 24, 72, 168] as const;

export function Hours({ value, onValue }: { value: number; onValue: (hours: number) => void }) {
  return (
    <TextField select size="small" label="For" value={value} onChange={(event) => onValue(Number(event.target.value))}>
      {CHOICES.map((hours) => (
        <MenuItem key={hours} value={hours}>
          {hours < 24 ? `${hours} h` : `${hours / 24} d`}
        </MenuItem>
      ))}
    </TextField>
  );
}
