/** The session as one file to keep: for tickets, hand-overs and those who have no access here. */
import Button from "@mui/material/Button";
import Menu from "@mui/material/Menu";
import MenuItem from "@mui/material/MenuItem";
import { Download } from "lucide-react";
import { useId, useState } from "react";

const FILES = {
  "HTML, with every cited result": "report?format=html",
  Markdown: "report?format=md",
  "Recording, to be replayed": "recording",
} as const;

export function ReportMenu({ sessionId }: { sessionId: string }) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const menu = useId();
  const close = () => setAnchor(null);
  return (
    <>
      <Button size="small" color="inherit" startIcon={<Download size={15} />} aria-haspopup="menu" aria-expanded={anchor !== null} aria-controls={anchor ? menu : undefined} onClick={(event) => setAnchor(event.currentTarget)}>
        Report
      </Button>
      <Menu id={menu} anchorEl={anchor} open={anchor !== null} onClose={close}>
        {Object.entries(FILES).map(([label, file]) => (
          <MenuItem key={file} component="a" href={`/api/v1/sessions/${sessionId}/${file}`} download onClick={close}>
            {label}
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}
