/** Asks to be told when a session ends or waits, also while another page is looked at. */
import IconButton from "@mui/material/IconButton";
import Tooltip from "@mui/material/Tooltip";
import { Bell, BellRing } from "lucide-react";
import { useWatched, watch } from "@/components/watched";

export function WatchButton({ sessionId }: { sessionId: string }) {
  const watched = useWatched(sessionId);
  const toggle = () => {
    watch(sessionId, !watched);
    // Without the browser's leave there is still the mark on the tab.
    if (!watched && "Notification" in window && Notification.permission === "default") void Notification.requestPermission();
  };
  const label = watched ? "You are told when it ends or waits" : "Tell me when it ends or waits";
  return (
    <Tooltip title={label}>
      <IconButton size="small" aria-label="Tell me when it ends or waits" aria-pressed={watched} color={watched ? "primary" : "default"} onClick={toggle}>
        {watched ? <BellRing size={17} /> : <Bell size={17} />}
      </IconButton>
    </Tooltip>
  );
}
