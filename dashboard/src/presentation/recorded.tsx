/** Notices that a model's output comes from a recording. */
import Alert from "@mui/material/Alert";
import AlertTitle from "@mui/material/AlertTitle";
import Chip from "@mui/material/Chip";
import { CassetteTape } from "lucide-react";
import { TextLink } from "@/components/links";

export const RECORDED = "No model was called. These answers were recorded for this sample and are played back.";

export function RecordedBanner() {
  return (
    <Alert severity="warning" icon={<CassetteTape size={22} aria-hidden />} data-testid="recorded-banner" sx={{ border: 2, borderColor: "warning.main", "& a": { color: "inherit" } }}>
      <AlertTitle sx={{ fontWeight: 700 }}>Recorded model</AlertTitle>
      {RECORDED} The tools and all the rest are real. <TextLink to="/setup" search={{ step: "model" }}>Give TARSy a model</TextLink> to have alerts of your own investigated.
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
      title="The model's answers come from a recording: no model was called, at no cost. Everything else in the investigation is real."
      sx={{ color: "text.secondary", fontSize: "0.75rem", "& .MuiChip-icon": { color: "inherit", ml: 0.75 } }}
    />
  );
}
