/** Says that the server has another version than the one this page came from. */
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { version } from "@/api/system";

// A server is mostly updated by a restart, after which everything is asked for again; this is for one behind a proxy that hides it.
const ASK_EVERY_MS = 5 * 60_000;

export function VersionBanner() {
  const { data } = useQuery({ ...version, refetchInterval: ASK_EVERY_MS });
  const [first, setFirst] = useState<string | null>(null);
  if (data && first === null) setFirst(data.version);
  if (!data || first === null || data.version === first) return null;
  return (
    <Alert
      severity="info"
      square
      role="status"
      action={
        <Button color="inherit" size="small" onClick={() => window.location.reload()}>
          Reload
        </Button>
      }
      sx={{ py: 0, alignItems: "center" }}
    >
      TARSy was updated from {first} to {data.version}. This page is still the old one.
    </Alert>
  );
}
