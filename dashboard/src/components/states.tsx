/** Shown in place of content: it is loading, there is none, it failed to load, or the address is wrong. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import CircularProgress from "@mui/material/CircularProgress";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import type { ReactNode } from "react";
import { LinkButton } from "./links";

export function Loading({ what }: { what: string }) {
  return (
    <Box role="status" sx={{ display: "flex", alignItems: "center", gap: 1.5, p: 3, color: "text.secondary" }}>
      <CircularProgress size={16} aria-hidden />
      <Typography variant="body2">Loading {what}…</Typography>
    </Box>
  );
}

export function Nothing({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Box sx={{ textAlign: "center", py: 6, px: 2 }}>
      <Typography variant="h3" component="p" sx={{ mb: 0.5 }}>
        {title}
      </Typography>
      <Typography variant="body2" color="textSecondary" component="div" sx={{ maxWidth: 460, mx: "auto" }}>
        {children}
      </Typography>
      {action && <Box sx={{ mt: 2 }}>{action}</Box>}
    </Box>
  );
}

export function Failure({ what, error, onRetry }: { what: string; error: unknown; onRetry?: () => void }) {
  return (
    <Alert
      severity="error"
      variant="outlined"
      sx={{ overflowWrap: "anywhere" }}
      action={
        onRetry && (
          <Button color="inherit" size="small" sx={{ whiteSpace: "nowrap" }} onClick={onRetry}>
            Try again
          </Button>
        )
      }
    >
      <strong>{what}</strong> {error instanceof Error ? error.message : String(error)}
    </Alert>
  );
}

interface LoadedProps<Data> {
  query: { data: Data | undefined; error: unknown; refetch: () => Promise<unknown> };
  /** What is loading; without it, nothing is shown meanwhile. */
  what?: string;
  failure: string;
  children: (data: Data) => ReactNode;
}

/** The data of a query as soon as there is any, also below the failure of a later request. */
export function Loaded<Data>({ query: { data, error, refetch }, what, failure, children }: LoadedProps<Data>) {
  return (
    <>
      {error !== null && <Failure what={failure} error={error} onRetry={() => void refetch()} />}
      {data !== undefined ? children(data) : error === null && what !== undefined && <Loading what={what} />}
    </>
  );
}

const LINKS = (
  <Stack direction="row" sx={{ justifyContent: "center", gap: 1, flexWrap: "wrap" }}>
    <LinkButton variant="contained" to="/sessions" search={{}}>
      All sessions
    </LinkButton>
    <LinkButton variant="outlined" to="/incidents" search={{}}>
      Incidents
    </LinkButton>
    <LinkButton to="/alerts/new" search={{}}>
      New alert
    </LinkButton>
  </Stack>
);

/** For an address that names nothing. */
export function NotFound({ what }: { what: "session" | "incident" | "page" }) {
  return (
    <Nothing title={`There is no such ${what}`} action={LINKS}>
      {what === "page" ? "The address may be mistyped, or from another version." : "It was deleted, or the address is not complete."}
    </Nothing>
  );
}

/** A script of the application could not be loaded: the server is unreachable, or was updated. */
export class LazyImportError extends Error {
  constructor(cause: unknown) {
    super("This part of the page could not be loaded.", { cause });
    this.name = "LazyImportError";
  }
}

/** Wraps a dynamic import so that it fails with `LazyImportError`, for which the router shows a page that reloads itself. */
export function lazyImport<T>(load: () => Promise<T>): () => Promise<T> {
  return () =>
    load().catch((error: unknown) => {
      throw new LazyImportError(error);
    });
}
