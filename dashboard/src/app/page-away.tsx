/** Stands where a page would, while the server that has it cannot be reached; comes back by itself. */
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import { useEffect } from "react";
import { Failure } from "@/components/states";
import { PartAwayError } from "@/components/loaded-later";

const ASK_EVERY_MS = 2_000;
// A server that answers and still has no such part would be reloaded from for ever.
const ONCE_IN_MS = 15_000;
const RELOADED_AT = "page-away:reloaded-at";

function mayReload(): boolean {
  const last = Number(sessionStorage.getItem(RELOADED_AT) ?? 0);
  return Math.abs(Date.now() - last) > ONCE_IN_MS;
}

function reload(): void {
  sessionStorage.setItem(RELOADED_AT, String(Date.now()));
  window.location.reload();
}

/** Whether anything answers; what it says does not matter. */
async function answers(): Promise<boolean> {
  try {
    await fetch("/api/v1/me", { cache: "no-store" });
    return true;
  } catch {
    return false;
  }
}

export function PageError({ error }: { error: unknown }) {
  if (error instanceof PartAwayError) return <PageAway />;
  return <Failure what="The page could not be shown." error={error} onRetry={() => window.location.reload()} />;
}

function PageAway() {
  useEffect(() => {
    const ask = async () => {
      if (mayReload() && (await answers())) reload();
    };
    void ask();
    const timer = setInterval(() => void ask(), ASK_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <Alert
      severity="warning"
      variant="outlined"
      role="status"
      action={
        <Button color="inherit" size="small" onClick={reload}>
          Try again
        </Button>
      }
    >
      <strong>This page has not been loaded yet,</strong> and the server cannot be reached. It comes by itself as soon as the server answers.
    </Alert>
  );
}
