/** Shown in place of a page that failed. */
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import { useEffect } from "react";
import { Failure, LazyImportError } from "@/components/states";

const CHECK_EVERY_MS = 2_000;
// Limits reloads from a server that answers but does not have the script.
const RELOAD_AT_MOST_EVERY_MS = 15_000;

export function PageError({ error }: { error: unknown }) {
  if (error instanceof LazyImportError) return <PageNotLoaded />;
  return <Failure what="The page could not be shown." error={error} onRetry={() => window.location.reload()} />;
}

function wasJustReloaded(): boolean {
  const [navigation] = performance.getEntriesByType("navigation");
  return navigation instanceof PerformanceNavigationTiming && navigation.type === "reload" && performance.now() < RELOAD_AT_MOST_EVERY_MS;
}

/** The script of the page could not be loaded. Reloads as soon as the server answers. */
function PageNotLoaded() {
  useEffect(() => {
    const check = async () => {
      if (wasJustReloaded()) return;
      // Any response will do: it shows that the server is reachable.
      await fetch("/api/v1/me", { cache: "no-store" }).then(() => window.location.reload(), () => undefined);
    };
    void check();
    const timer = setInterval(() => void check(), CHECK_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <Alert
      severity="warning"
      variant="outlined"
      role="status"
      action={
        <Button color="inherit" size="small" onClick={() => window.location.reload()}>
          Try again
        </Button>
      }
    >
      <strong>This page has not been loaded yet,</strong> and the server cannot be reached. It comes by itself as soon as the server answers.
    </Alert>
  );
}
