/** The incidents, the latest first. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useRef } from "react";
import { incidentKeys, incidentPages } from "@/api/incidents";
import { useThrottledRefetch } from "@/api/refetch";
import { queue } from "@/api/system";
import { plural } from "@/components/format";
import { moveRowFocus, TextLink } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { useShortcuts } from "@/components/shortcuts";
import { Failure, Loading, Nothing } from "@/components/states";
import { RelativeTime, useMinute } from "@/components/times";
import { useChannel } from "@/live/connection";
import type { IncidentItem } from "@/wire/types";
import { Filters } from "./filters";
import { COLUMNS, IncidentRow } from "./incident-row";
import { Mutes } from "./mutes";
import type { IncidentSearch } from "./search";
import { incidentFilterOf, readIncidentSearch } from "./search";

// Limits requests during an alert storm.
const REFETCH_EVERY_MS = 2_000;

/** A page of its own, and the home page once there are incidents. */
export function IncidentsPage() {
  const refetch = useThrottledRefetch([incidentKeys.all], REFETCH_EVERY_MS);
  useChannel("incidents", (message) => {
    if (message.type === "incident.changed" || message.type === "subscription.confirmed" || message.type === "catchup.overflow") refetch();
  });
  usePageTitle("Incidents");
  const search = readIncidentSearch(useSearch({ strict: false }));
  const navigate = useNavigate();
  const onSearch = (next: IncidentSearch) => void navigate({ to: ".", search: next, replace: true });
  const list = useRef<HTMLDivElement>(null);
  const searchBox = useRef<HTMLInputElement>(null);
  useShortcuts({
    j: () => moveRowFocus(list.current, 1),
    k: () => moveRowFocus(list.current, -1),
    "/": () => searchBox.current?.focus(),
  });
  const pages = useInfiniteQuery({ ...incidentPages(incidentFilterOf(search, useMinute())), placeholderData: keepPreviousData });
  const incidents = pages.data?.pages.flatMap((page) => page.incidents) ?? [];
  const first = pages.data?.pages[0];
  return (
    <Stack spacing={2}>
      <QueueLine />
      <Filters search={search} onChange={onSearch} searchBox={searchBox} totals={first} sources={[...new Set(incidents.map((incident) => incident.source))].sort()} />
      <Box ref={list}>
        <Typography variant="h1" sx={{ position: "absolute", left: -9999 }}>
          Incidents
        </Typography>
        {pages.isLoadingError && <Failure what="The incidents could not be loaded." error={pages.error} onRetry={() => void pages.refetch()} />}
        {pages.isPending && <Loading what="incidents" />}
        {first && (incidents.length === 0 ? <NoIncidents search={search} resolved={first.resolved} onAll={() => onSearch({ ...search, state: "all" })} /> : <List incidents={incidents} total={first.total} />)}
      </Box>
      {pages.hasNextPage && (
        <Button onClick={() => void pages.fetchNextPage()} loading={pages.isFetchingNextPage} sx={{ alignSelf: "center" }}>
          Show older incidents
        </Button>
      )}
      <Mutes />
    </Stack>
  );
}

function List({ incidents, total }: { incidents: IncidentItem[]; total: number }) {
  return (
    <Paper component="section" aria-label="Incidents" variant="outlined" sx={{ overflow: "hidden" }}>
      <Box sx={{ display: "grid", gridTemplateColumns: COLUMNS, columnGap: 2, px: 2, py: 0.9, alignItems: "baseline" }}>
        <Typography variant="h2" sx={{ whiteSpace: "nowrap" }}>
          {plural(total, "incident")}
        </Typography>
        <Heading>Problem, and what was found</Heading>
        <Heading>Verdict</Heading>
        <Heading>Alerts</Heading>
        <Heading>State</Heading>
        <Heading right>Age</Heading>
      </Box>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {incidents.map((incident) => (
          <IncidentRow key={incident.id} incident={incident} />
        ))}
      </Box>
    </Paper>
  );
}

function Heading({ children, right = false }: { children: string; right?: boolean }) {
  return (
    <Typography variant="caption" color="textSecondary" aria-hidden sx={{ display: { xs: "none", md: "block" }, textAlign: right ? "right" : "left" }}>
      {children}
    </Typography>
  );
}

function NoIncidents({ search, resolved, onAll }: { search: IncidentSearch; resolved: number; onAll: () => void }) {
  const { state, ...others } = search;
  if (Object.keys(others).length > 0) return <Nothing title="No incident matches">Try fewer words, another severity or a longer time.</Nothing>;
  if (state !== undefined || resolved === 0) {
    return (
      <Nothing title="No incidents" action={<Button href="/help/sender-recipes.md">Connect a monitoring system</Button>}>
        Alerts that monitoring systems send to <code>/api/v1/webhook</code> are gathered here, one incident for each problem.
      </Nothing>
    );
  }
  return <Nothing title="Nothing is wrong" action={<Button onClick={onAll}>Show {plural(resolved, "resolved incident")}</Button>} />;
}

/** The state of the queue, with a link to the sessions. */
function QueueLine() {
  const { data } = useQuery(queue);
  if (!data || data.running + data.pending + data.waiting === 0) return null;
  return (
    <Typography variant="body2" color="textSecondary" role="status">
      {data.running.toLocaleString()} running, {data.pending.toLocaleString()} in the queue
      {data.waiting > 0 && `, ${data.waiting.toLocaleString()} waiting`}
      {data.oldest_pending_at && (
        <>
          , the oldest since <RelativeTime at={data.oldest_pending_at} />
        </>
      )}
      .{" "}
      <TextLink to="/sessions" search={{}}>
        Sessions
      </TextLink>
    </Typography>
  );
}
