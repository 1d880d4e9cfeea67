/** Says so when what the page shows may be out of date. */
import Alert from "@mui/material/Alert";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { me } from "@/api/account";
import { useConnectionState } from "@/live/connection";

// A blink of the connection is not worth a word.
const PATIENCE_MS = 1_200;
// A handshake that is refused looks like a server that is gone; this tells whether we have to log in again.
const ASK_WHO_EVERY_MS = 5_000;

export function ConnectionBanner() {
  const state = useConnectionState();
  const [shown, setShown] = useState(false);
  if (state === "open" && shown) setShown(false);
  useQuery({ ...me, refetchInterval: shown ? ASK_WHO_EVERY_MS : false, refetchIntervalInBackground: true });
  useEffect(() => {
    if (state === "open") return;
    const timer = setTimeout(() => setShown(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [state]);
  useComeBack(state === "lost", state === "open");
  if (!shown || state !== "lost") return null;
  return (
    <Alert severity="warning" square role="status" sx={{ justifyContent: "center", py: 0, position: "sticky", top: 0, zIndex: 6 }}>
      Connection lost. Reconnecting… What you see may be out of date.
    </Alert>
  );
}

/** When the server is back, everything on the page is asked for again: what could not be loaded meanwhile, and what may have changed. */
function useComeBack(lost: boolean, open: boolean): void {
  const client = useQueryClient();
  const wasLost = useRef(false);
  useEffect(() => {
    if (lost) wasLost.current = true;
    if (!open || !wasLost.current) return;
    wasLost.current = false;
    void client.invalidateQueries();
  }, [client, lost, open]);
}
