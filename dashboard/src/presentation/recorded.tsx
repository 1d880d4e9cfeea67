/** Notices that a model's output comes from a recording. */
import Alert from "@mui/material/Alert";
import AlertTitle from "@mui/material/AlertTitle";
import Chip from "@mui/material/Chip";
import { CassetteTape } from "lucide-react";

export const RECORDED = "No model was asked. What you read was said once about this sample's alert, and is played back.";

export function RecordedBanner() {
  return (
    <Alert severity="warning" icon={<CassetteTape size={22} aria-hidden />} data-testid="recorded-banner" sx={{ border: 2, borderColor: "warning.main", "& a": { color: "inherit" } }}>
      <AlertTitle sx={{ fontWeight: 700 }}>Recorded model</AlertTitle>
      {RECORDED} The tools and all the rest are real. <a href="/setup?step=model">Give TARSy a model</a> to have alerts of your own investigated.
    </Alert>
  );
}

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
