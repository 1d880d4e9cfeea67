/** All shortcuts at a glance. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogTitle from "@mui/material/DialogTitle";
import Typography from "@mui/material/Typography";
import { useId } from "react";
import type { Shortcut } from "./shortcut-list";
import { SHORTCUTS } from "./shortcut-list";

export default function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const label = useId();
  return (
    <Dialog open onClose={onClose} aria-labelledby={label} fullWidth maxWidth="sm">
      <DialogTitle id={label}>Keyboard shortcuts</DialogTitle>
      <DialogContent>
        {SHORTCUTS.map(({ where, keys }) => (
          <Box key={where} sx={{ mb: 2 }}>
            <Typography variant="h3" component="h2" sx={{ mb: 0.5 }}>
              {where}
            </Typography>
            <Box component="dl" sx={{ display: "grid", gridTemplateColumns: "120px 1fr", rowGap: 0.75, columnGap: 2, m: 0, alignItems: "baseline" }}>
              {keys.map((shortcut) => (
                <Line key={shortcut.does} shortcut={shortcut} />
              ))}
            </Box>
          </Box>
        ))}
      </DialogContent>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
      </DialogActions>
    </Dialog>
  );
}

function Line({ shortcut }: { shortcut: Shortcut }) {
  return (
    <>
      <Box component="dt">
        {shortcut.keys.map((key, index) => (
          <Box key={index} component="kbd" sx={{ border: 1, borderColor: "divider", borderRadius: 0.75, px: 0.75, py: 0.25, mr: 0.5, fontSize: "0.8rem", bgcolor: "code.inline" }}>
            {key}
          </Box>
        ))}
      </Box>
      <Typography component="dd" variant="body2" sx={{ m: 0 }}>
        {shortcut.does}
      </Typography>
    </>
  );
}
