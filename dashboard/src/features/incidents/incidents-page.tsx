/** The incidents, the worst first. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useRef } from "react";
import { incidentKeys, incidentPages } from "@/api/incidents";
import { queue } from "@/api/system";
import { plural } from "@/components/format";
import { searchWords } from "@/components/highlighted";
import { moveRowFocus, TextLink } from "@/components/links";
import { usePageTitle } from "@/components/page";
import type { Selection } from "@/components/selection";
import { useSelection } from "@/components/selection";
import { useShortcuts } from "@/components/shortcuts";
import { useFixedPeriodStart } from "@/components/search-params";
import { Failure, Loading, Nothing } from "@/components/states";
import { RelativeTime } from "@/components/times";
import { ColumnsMenu, ViewsMenu } from "@/components/view-menu";
import { useLiveRefetch } from "@/presentation/live-refetch";
import type { IncidentItem } from "@/wire/types";
import { Filters } from "./filters";
import { gridOf, IncidentRow } from "./incident-row";
import { Mutes } from "./mutes";
import type { IncidentSearch } from "./search";
import { chosenColumns, INCIDENT_COLUMNS, incidentFilterOf, joinColumns, readIncidentSearch } from "./search";
import { SelectedActions } from "./selected-actions";

// Limits requests during an alert storm.
const REFETCH_EVERY_MS = 2_000;

/** A page of its own, and the home page once there are incidents. */
export function IncidentsPage() {
  useLiveRefetch("incidents", ({ type }) => type === "incident.changed", [incidentKeys.all], REFETCH_EVERY_MS);
  usePageTitle("Incidents");
  const search = readIncidentSearch(useSearch({ strict: false }));
  const navigate = useNavigate();
  const onSearch = (next: IncidentSearch) => void navigate({ to: ".", search: next, replace: true });
  const list = useRef<HTMLDivElement>(null);
  const searchBox = useRef<HTMLInputElement>(null);
  const selection = useSelection();
  useShortcuts({
    j: () => moveRowFocus(list.current, 1),
    k: () => moveRowFocus(list.current, -1),
    x: () => {
      const id = document.activeElement?.closest<HTMLElement>("[data-incident]")?.dataset["incident"];
      if (id !== undefined) selection.select(id, !selection.has(id));
    },
    "/": () => searchBox.current?.focus(),
  });
  const pages = useInfiniteQuery({ ...incidentPages(incidentFilterOf(search, useFixedPeriodStart(search.since))), placeholderData: keepPreviousData });
  const incidents = pages.data?.pages.flatMap((page) => page.incidents) ?? [];
  const first = pages.data?.pages[0];
  return (
    <Stack spacing={2}>
      <QueueLine />
      <Filters search={search} onChange={onSearch} searchBox={searchBox} totals={first} sources={[...new Set(incidents.map((incident) => incident.source))].sort()}>
        <Stack direction="row" sx={{ ml: "auto", gap: 1 }}>
          <ViewsMenu list="incidents" search={search} read={readIncidentSearch} onChange={onSearch} />
          <ColumnsMenu columns={INCIDENT_COLUMNS} chosen={chosenColumns(search.show)} onChosen={(chosen) => onSearch(readIncidentSearch({ ...search, show: joinColumns(chosen) }))} />
        </Stack>
      </Filters>
      <Box ref={list}>
        <Typography variant="h1" sx={{ position: "absolute", left: -9999 }}>
          Incidents
        </Typography>
        {pages.isLoadingError && <Failure what="The incidents could not be loaded." error={pages.error} onRetry={() => void pages.refetch()} />}
        {pages.isPending && <Loading what="incidents" />}
        {first && (incidents.length === 0 ? <NoIncidents search={search} resolved={first.resolved} onAll={() => onSearch({ ...search, state: "all" })} /> : <List incidents={incidents} total={first.total} search={search} selection={selection} />)}
      </Box>
      {pages.hasNextPage && (
        <Button onClick={() => void pages.fetchNextPage()} loading={pages.isFetchingNextPage} sx={{ alignSelf: "center" }}>
          Show more incidents
        </Button>
      )}
      <SelectedActions selected={incidents.filter(({ id }) => selection.has(id))} onClear={selection.clear} />
      <Mutes />
    </Stack>
  );
}

function List({ incidents, total, search, selection }: { incidents: IncidentItem[]; total: number; search: IncidentSearch; selection: Selection }) {
  const columns = useMemo(() => chosenColumns(search.show), [search.show]);
  const words = useMemo(() => searchWords(search.text), [search.text]);
  return (
    <Paper component="section" aria-label="Incidents" variant="outlined" sx={{ overflow: "hidden" }}>
      <Box sx={{ display: "grid", gridTemplateColumns: gridOf(columns), columnGap: 2, px: 2, py: 0.9, alignItems: "baseline" }}>
        <Box
          component="input"
          type="checkbox"
          aria-label="Select all listed incidents"
          checked={incidents.every(({ id }) => selection.has(id))}
          onChange={(event: React.ChangeEvent<HTMLInputElement>) => selection.selectAll(incidents.map(({ id }) => id), event.target.checked)}
          sx={{ display: { xs: "none", md: "block" }, m: 0, width: 16, height: 16, alignSelf: "center" }}
        />
        <Typography variant="h2" sx={{ whiteSpace: "nowrap" }}>
          {plural(total, "incident")}
        </Typography>
        <Heading>Problem and finding</Heading>
        {INCIDENT_COLUMNS.filter(({ id }) => columns.includes(id)).map(({ id, label }) => (
          <Heading key={id} right={id === "age"}>
            {label}
          </Heading>
        ))}
      </Box>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {incidents.map((incident) => (
          <IncidentRow key={incident.id} incident={incident} columns={columns} words={words} selected={selection.has(incident.id)} onSelect={selection.select} />
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
  const { state, by: _by, show: _show, ...others } = search;
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
    <Typography variant="body2" color="textSecondary">
      <span role="status">
        {data.running.toLocaleString()} running, {data.pending.toLocaleString()} in the queue
        {data.waiting > 0 && `, ${data.waiting.toLocaleString()} waiting`}
      </span>
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
