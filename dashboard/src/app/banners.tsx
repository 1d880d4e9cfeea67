/** The banners above every page: a lost connection, an updated server, paused work, and urgent warnings. */
import Alert from "@mui/material/Alert";
import Button from "@mui/material/Button";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CirclePause } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { refetchChanged } from "@/api/refetch";
import { me, pauses, queue, resume, version, warnings } from "@/api/system";
import { TextLink } from "@/components/links";
import { RelativeTime } from "@/components/times";
import { useConnectionState } from "@/live/connection";
import { Allowed } from "@/presentation/allowed";
import { useLiveRefetch } from "@/presentation/live-refetch";
import type { PauseItem, WarningSource } from "@/wire/types";

// A shorter loss of the connection is not shown.
const SHOWN_AFTER_MS = 1_200;
// The browser reports a rejected handshake like an unreachable server; this request shows whether the login has expired.
const CHECK_LOGIN_EVERY_MS = 5_000;

export function ConnectionBanner() {
  const client = useQueryClient();
  const state = useConnectionState();
  const wasLost = useRef(false);
  const [shown, setShown] = useState(false);
  if (state === "open" && shown) setShown(false);
  useQuery({ ...me, refetchInterval: shown ? CHECK_LOGIN_EVERY_MS : false, refetchIntervalInBackground: true });
  useEffect(() => {
    if (state === "lost") wasLost.current = true;
    if (state !== "open") {
      const timer = setTimeout(() => setShown(true), SHOWN_AFTER_MS);
      return () => clearTimeout(timer);
    }
    // Requests failed and changes were missed while the server was away.
    if (wasLost.current) void client.invalidateQueries();
    wasLost.current = false;
    return undefined;
  }, [client, state]);
  if (!shown || state !== "lost") return null;
  return (
    <Alert severity="warning" square role="status" sx={{ justifyContent: "center", py: 0, position: "sticky", top: 0, zIndex: 6 }}>
      Connection lost. Reconnecting… What you see may be out of date.
    </Alert>
  );
}

// An update usually restarts the server, and all queries are refetched after the reconnect; a proxy may hide the restart.
const CHECK_VERSION_EVERY_MS = 5 * 60_000;

export function VersionBanner() {
  const { data } = useQuery({ ...version, refetchInterval: CHECK_VERSION_EVERY_MS });
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

export function PauseBanner() {
  const { data } = useQuery(pauses);
  useLiveRefetch("sessions", ({ type }) => type === "pauses.changed", [queue.queryKey]);
  return (data?.pauses ?? []).map((pause) => <PauseAlert key={pause.chain_id ?? ""} pause={pause} />);
}

function PauseAlert({ pause }: { pause: PauseItem }) {
  const client = useQueryClient();
  const { mutate, isPending, error } = useMutation({ mutationFn: resume, onSuccess: () => refetchChanged(client, queue.queryKey) });
  return (
    <Alert
      severity="warning"
      square
      role="status"
      icon={<CirclePause size={20} aria-hidden />}
      action={
        <Allowed operation="resume">
          <Button color="inherit" size="small" loading={isPending} onClick={() => mutate(pause.chain_id)} aria-label={pause.chain_id === null ? "Resume all work" : `Resume the chain ${pause.chain_id}`} sx={{ whiteSpace: "nowrap" }}>
            Resume
          </Button>
        </Allowed>
      }
      sx={{ py: 0, alignItems: "center", overflowWrap: "anywhere" }}
    >
      {pause.chain_id === null ? "All work is paused" : `The chain ${pause.chain_id} is paused`} by {pause.actor} since <RelativeTime at={pause.since} />
      {pause.reason && `: ${pause.reason}`}. Alerts are taken and wait.{error && ` It could not be resumed: ${error.message}`}
    </Alert>
  );
}

// These keep alerts from being investigated at all. The other warnings are on the System page.
const URGENT: ReadonlySet<WarningSource> = new Set(["workers", "queue", "model"]);

export function WarningBanner() {
  const { data } = useQuery(warnings);
  const [first, ...more] = (data?.warnings ?? []).filter((warning) => URGENT.has(warning.source));
  if (!first) return null;
  return (
    <Alert severity="warning" square role="status" sx={{ py: 0, alignItems: "center", overflowWrap: "anywhere" }}>
      {first.message} {more.length > 0 && `And ${more.length} more. `}
      <TextLink to="/system">System</TextLink>
    </Alert>
  );
}
