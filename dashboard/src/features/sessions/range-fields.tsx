/** The begin and the end of a range of one's own, in the reader's own time. */
import TextField from "@mui/material/TextField";

/** A moment as the browser's field wants it: local, to the minute. */
export function localMinute(at: string | undefined): string {
  if (at === undefined) return "";
  const moment = new Date(at);
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

interface RangeFieldsProps {
  from: string | undefined;
  to: string | undefined;
  onRange: (range: { from?: string | undefined; to?: string | undefined }) => void;
}

export function RangeFields({ from, to, onRange }: RangeFieldsProps) {
  const field = (label: string, value: string | undefined, onValue: (at: string | undefined) => void) => (
    <TextField
      size="small"
      type="datetime-local"
      label={label}
      value={localMinute(value)}
      onChange={(event) => onValue(event.target.value === "" ? undefined : new Date(event.target.value).toISOString())}
      slotProps={{ inputLabel: { shrink: true } }}
    />
  );
  return (
    <>
      {field("From", from, (at) => onRange({ from: at, to }))}
      {field("Until", to, (at) => onRange({ from, to: at }))}
    </>
  );
}
