/** The sessions: active ones on top, ended ones below, in pages and any order. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Fragment, useRef } from "react";
import { activeSessions, sessionCounts, sessionKeys, sessionPage } from "@/api/sessions";
import { queue } from "@/api/system";
import { LinkButton, moveRowFocus, TextLink } from "@/components/links";
import { usePageTitle } from "@/components/page";
import type { Selection } from "@/components/selection";
import { useSelection } from "@/components/selection";
import { useShortcuts } from "@/components/shortcuts";
import { Failure, Loading, Nothing } from "@/components/states";
import { useMinute } from "@/components/times";
import { ColumnsMenu, ViewsMenu } from "@/components/view-menu";
import { useLiveRefetch } from "@/presentation/live-refetch";
import { ACTIVE_STATUSES, ENDED_STATUSES } from "@/presentation/statuses";
import type { LiveMessage } from "@/wire/live-messages";
import type { SessionListItem, SessionStatus } from "@/wire/types";
import { CancelMatching, SelectedActions } from "./bulk-actions";
import { Filters } from "./filters";
import type { SessionSearch } from "./search";
import { chosenColumns, COLUMNS, filterOf, isFiltered, joinColumns, nextSorting, readSessionSearch, sliceOf, statusesOf } from "./search";
import { Pages, SessionList } from "./session-list";
import { RowStyles } from "./session-row";

/** A page of its own, and the home page before there are incidents. */
export function SessionsPage() {
  useLiveRefetch("sessions", changesList, [sessionKeys.all]);
  usePageTitle("Sessions");
  const search = readSessionSearch(useSearch({ strict: false }));
  const navigate = useNavigate();
  const onSearch = (next: SessionSearch) => void navigate({ to: ".", search: next, replace: true });
  const list = useRef<HTMLDivElement>(null);
  const searchBox = useRef<HTMLInputElement>(null);
  const selection = useSelection();
  useShortcuts({
    j: () => moveRowFocus(list.current, 1),
    k: () => moveRowFocus(list.current, -1),
    x: () => {
      const id = document.activeElement?.closest<HTMLElement>("[data-session]")?.dataset["session"];
      if (id !== undefined) selection.select(id, !selection.has(id));
    },
    "/": () => searchBox.current?.focus(),
  });
  return (
    <>
      <RowStyles />
      <Typography variant="h1" sx={{ position: "absolute", left: -9999 }}>
        Sessions
      </Typography>
      <Stack spacing={2}>
        <Filters search={search} onChange={onSearch} searchBox={searchBox}>
          <Stack direction="row" sx={{ ml: "auto", gap: 1 }}>
            <ViewsMenu list="sessions" search={search} read={readSessionSearch} onChange={onSearch} />
            <ColumnsMenu columns={COLUMNS} chosen={chosenColumns(search.columns)} onChosen={(chosen) => onSearch(readSessionSearch({ ...search, columns: joinColumns(chosen) }))} />
          </Stack>
        </Filters>
        <Box ref={list}>
          <Lists search={search} onSearch={onSearch} selection={selection} />
        </Box>
      </Stack>
    </>
  );
}

/** Whether the list has to be refetched after a message: rows may be added, removed, moved or changed. */
export function changesList({ type }: LiveMessage): boolean {
  return type === "session.status" || type === "session.completed" || type === "stage.started";
}

/** Sorts running sessions first, then the queue by position. */
export function sortActive(sessions: readonly SessionListItem[]): SessionListItem[] {
  const position = (session: SessionListItem) => (session.status === "pending" ? (session.queue_position ?? Number.MAX_SAFE_INTEGER) : 0);
  return [...sessions].sort((a, b) => position(a) - position(b));
}

function Lists({ search, onSearch, selection }: { search: SessionSearch; onSearch: (search: SessionSearch) => void; selection: Selection }) {
  const filter = filterOf(search, useMinute());
  const slice = sliceOf(search);
  const page = search.page ?? 1;
  const chosen = statusesOf(search.status);
  const pick = (all: SessionStatus[]) => (chosen.length === 0 ? all : all.filter((status) => chosen.includes(status)));
  // Active sessions are on the first page only.
  const wantsActive = pick(ACTIVE_STATUSES).length > 0 && page === 1;
  const endedStatuses = pick(ENDED_STATUSES);
  const wantsEnded = endedStatuses.length > 0;
  const active = useQuery({ ...activeSessions(filter), enabled: wantsActive, placeholderData: keepPreviousData });
  const past = useQuery({ ...sessionPage({ ...filter, status: endedStatuses }, slice), enabled: wantsEnded, placeholderData: keepPreviousData });
  const counts = useQuery({ ...sessionCounts({ ...filter, status: undefined }), placeholderData: keepPreviousData });

  const failed = [active, past].find((query) => query.isLoadingError)?.error;
  if (failed) {
    return <Failure what="The sessions could not be loaded." error={failed} onRetry={() => void Promise.all([wantsActive && active.refetch(), wantsEnded && past.refetch(), counts.refetch()])} />;
  }
  if ((wantsActive && active.isPending) || (wantsEnded && past.isPending)) return <Loading what="sessions" />;

  const running = wantsActive ? sortActive((active.data?.sessions ?? []).filter((session) => pick(ACTIVE_STATUSES).includes(session.status))) : [];
  const runningIds = new Set(running.map((session) => session.id));
  const ended = wantsEnded ? (past.data?.sessions ?? []).filter((session) => !runningIds.has(session.id)) : [];
  // At least as many as are listed: the counts are another request, which may finish later.
  const totalOf = (statuses: SessionStatus[], least: number) => Math.max(least, statuses.reduce((sum, status) => sum + (counts.data?.by_status[status] ?? 0), 0));
  const pending = totalOf(["pending"], 0);
  const listed = running.filter((session) => session.status === "pending").length;
  const total = totalOf(endedStatuses, (page === 1 ? 0 : slice.offset) + ended.length);
  if (running.length + ended.length === 0 && page === 1) return <NoSessions filtered={isFiltered(search)} />;
  const change = (parameters: object) => onSearch(readSessionSearch({ ...search, page: undefined, ...parameters }));
  return (
    <Stack spacing={2.5}>
      {listed < pending && <NextSessions />}
      {running.length > 0 && (
        <SessionList
          title="Active"
          total={totalOf(pick(ACTIVE_STATUSES), running.length)}
          sessions={running}
          selection={selection}
          search={search}
          actions={<CancelMatching filter={filter} filtered={isFiltered(search)} statuses={pick(ACTIVE_STATUSES)} />}
          note={listed < pending ? `Of the ${pending.toLocaleString()} sessions that wait, the ${listed} that run next are shown.` : undefined}
        />
      )}
      {ended.length > 0 && <SessionList title="Ended" total={total} sessions={ended} selection={selection} search={search} onSort={(by) => change({ sort: undefined, order: undefined, ...nextSorting(search, by) })} />}
      {wantsEnded && (total > slice.limit || page > 1) && <Pages page={page} rows={slice.limit} total={total} onPage={(next) => change({ page: next })} onRows={(rows) => change({ rows })} />}
      <SelectedActions selected={[...running, ...ended].filter(({ id }) => selection.has(id))} onClear={selection.clear} />
    </Stack>
  );
}

/** Shown where the queue is too long to be listed. */
function NextSessions() {
  const { data } = useQuery(queue);
  if (!data || data.next_sessions.length === 0) return null;
  return (
    <Typography variant="body2" color="textSecondary" role="status" sx={{ overflowWrap: "anywhere" }}>
      {data.running.toLocaleString()} running, {data.pending.toLocaleString()} in the queue. Next:{" "}
      {data.next_sessions.map((next, index) => (
        <Fragment key={next.session_id}>
          {index > 0 && ", "}
          <TextLink to="/sessions/$sessionId" params={{ sessionId: next.session_id }}>
            {next.title}
          </TextLink>
        </Fragment>
      ))}
    </Typography>
  );
}

function NoSessions({ filtered }: { filtered: boolean }) {
  if (filtered) return <Nothing title="No session matches">Try fewer words, another status or a longer time.</Nothing>;
  return (
    <Nothing
      title="No investigations yet"
      action={
        <LinkButton variant="contained" to="/alerts/new">
          Submit an alert
        </LinkButton>
      }
    >
      Send an alert and watch it being investigated. The sample incidents need neither a cluster nor an API key.
    </Nothing>
  );
}
