/** Says that no model was asked: its words come from a recording. */
import Chip from "@mui/material/Chip";
import { CassetteTape } from "lucide-react";

export function RecordedMark() {
  return (
    <Chip
      component="a"
      href="/help/recordings.md"
      clickable
      size="small"
      variant="outlined"
      icon={<CassetteTape size={14} aria-hidden />}
      label="Recorded model"
      title="The model's words come from a recording: none was asked, and nothing was paid for. The rest of the investigation is real."
      sx={{ color: "text.secondary", fontSize: "0.75rem", "& .MuiChip-icon": { color: "inherit", ml: 0.75 } }}
    />
  );
}
