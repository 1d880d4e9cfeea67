/** The list of all keyboard shortcuts. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogTitle from "@mui/material/DialogTitle";
import Typography from "@mui/material/Typography";
import { Fragment } from "react";
import { PALETTE_KEYS } from "./shortcuts";

interface Shortcut {
  keys: readonly string[];
  does: string;
}

/** The table in docs/dashboard.md has the same rows. */
export const SHORTCUTS: readonly { where: string; keys: readonly Shortcut[] }[] = [
  {
    where: "Everywhere",
    keys: [
      { keys: PALETTE_KEYS, does: "Find a session, an incident, a page or an action" },
      { keys: ["?"], does: "Show these shortcuts" },
      { keys: ["g", "i"], does: "Go to incidents" },
      { keys: ["g", "s"], does: "Go to sessions" },
      { keys: ["g", "n"], does: "Write a new alert" },
      { keys: ["g", "r"], does: "Go to reviews" },
      { keys: ["g", "u"], does: "Go to usage" },
      { keys: ["g", "y"], does: "Go to the system" },
      { keys: ["Esc"], does: "Close the open panel or dialog" },
    ],
  },
  {
    where: "In a list",
    keys: [
      { keys: ["j"], does: "Next row" },
      { keys: ["k"], does: "Previous row" },
      { keys: ["Enter"], does: "Open the row; with Ctrl or ⌘ in a new tab" },
      { keys: ["x"], does: "Select or deselect the row" },
      { keys: ["/"], does: "Search" },
    ],
  },
  { where: "In a session", keys: [{ keys: ["/"], does: "Find text in it" }] },
  {
    where: "In a trace",
    keys: [
      { keys: ["j"], does: "Next call" },
      { keys: ["k"], does: "Previous call" },
      { keys: ["/"], does: "Search" },
      { keys: ["+"], does: "Zoom in" },
      { keys: ["-"], does: "Zoom out" },
      { keys: ["0"], does: "Show the whole time range" },
    ],
  },
];

export default function ShortcutHelp({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} fullWidth maxWidth="sm">
      <DialogTitle>Keyboard shortcuts</DialogTitle>
      <DialogContent>
        {SHORTCUTS.map(({ where, keys }) => (
          <Box key={where} sx={{ mb: 2 }}>
            <Typography variant="h3" component="h2" sx={{ mb: 0.5 }}>
              {where}
            </Typography>
            <Box component="dl" sx={{ display: "grid", gridTemplateColumns: "120px 1fr", rowGap: 0.75, columnGap: 2, m: 0, alignItems: "baseline" }}>
              {keys.map((shortcut) => (
                <Fragment key={shortcut.does}>
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
                </Fragment>
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
