/** Sample incidents, which need no cluster and no API key. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { samples } from "@/api/alerts";
import { Loaded } from "@/components/states";
import { Allowed } from "@/presentation/allowed";
import { RecordedMark } from "@/presentation/recorded";
import type { Sample } from "@/wire/types";

interface SamplesProps {
  onRun: (sample: Sample) => void;
  onEdit: (sample: Sample) => void;
  busy: string | null;
}

export function Samples({ onRun, onEdit, busy }: SamplesProps) {
  return (
    <Loaded query={useQuery(samples)} what="sample incidents" failure="The samples could not be loaded.">
      {({ samples: listed }) => (
        <Box sx={{ display: "grid", gap: 1.5 }}>
          <Typography variant="body2" component="div" color="textSecondary">
            {listed.some((sample) => sample.recorded) ? (
              <>
                <RecordedMark /> on a simulated cluster: no API key, no Kubernetes, no cost.
              </>
            ) : (
              "A simulated cluster, investigated by your own model."
            )}
          </Typography>
          {listed.map((sample) => (
            <Paper key={sample.name} variant="outlined" sx={{ p: 1.5 }}>
              <Typography variant="h3">{sample.title}</Typography>
              <Typography variant="body2" color="textSecondary" sx={{ my: 0.75 }}>
                {sample.description}
              </Typography>
              <Allowed operation="submitAlert">
                <Button size="small" variant="outlined" startIcon={<Play size={14} />} loading={busy === sample.name} disabled={busy !== null} onClick={() => onRun(sample)} aria-label={`Investigate: ${sample.title}`}>
                  Investigate
                </Button>
              </Allowed>
              <Button size="small" color="inherit" onClick={() => onEdit(sample)} aria-label={`Edit first: ${sample.title}`} sx={{ ml: 0.5 }}>
                Edit first
              </Button>
            </Paper>
          ))}
        </Box>
      )}
    </Loaded>
  );
}
