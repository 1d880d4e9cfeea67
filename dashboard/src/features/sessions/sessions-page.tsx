/** The list of sessions: what is running and waiting on top, what has ended below, page by page and in any order. */
import Box from "@mui/material/Box";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { memo, useCallback, useDeferredValue, useMemo, useRef } from "react";
import { ACTIVE, activeSessions, ENDED, sessionCounts, sessionPage } from "@/api/sessions";
import { useShortcuts } from "@/components/keyboard";
import { LinkButton } from "@/components/links";
import { moveRowFocus } from "@/components/list-row";
import { useMinute } from "@/components/now";
import { Failure, Loading, Nothing } from "@/components/states";
import { useTitle } from "@/components/title";
import type { SessionListItem, SessionSort, SessionStatus } from "@/wire/types";
import { CancelMatching } from "./cancel-matching";
import type { ColumnId } from "./columns";
import { chosenColumns, gridOf, leastWidth, nextSorting } from "./columns";
import { Filters } from "./filters";
import { ListHead } from "./list-head";
import { inOrderOfWork } from "./live-list";
import { MarkedActions } from "./marked-actions";
import { NextUp } from "./next-up";
import { Pager } from "./pager";
import { RowStyles } from "./row-styles";
import type { SessionSearch } from "./search";
import { filterOf, leavesOut, placeOf, readSearch, statusesOf } from "./search";
import { SessionRow } from "./session-row";
import { useLiveList } from "./use-live-list";
import type { Marked } from "./use-marked";
import { useMarked } from "./use-marked";
import { ColumnsMenu, ViewsMenu } from "./view-menu";

interface SessionsPageProps {
  search: SessionSearch;
  onSearch: (search: SessionSearch) => void;
}

export function SessionsPage({ search, onSearch }: SessionsPageProps) {
  useLiveList();
  useTitle("Sessions");
  const list = useRef<HTMLDivElement>(null);
  const searchBox = useRef<HTMLInputElement>(null);
  const marked = useMarked();
  useShortcuts({
    j: () => moveRowFocus(list.current, 1),
    k: () => moveRowFocus(list.current, -1),
    x: () => {
      const id = document.activeElement?.closest<HTMLElement>("[data-session]")?.dataset["session"];
      if (id !== undefined) marked.mark(id, !marked.has(id));
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
            <ViewsMenu search={search} onChange={onSearch} />
            <ColumnsMenu search={search} onChange={onSearch} />
          </Stack>
        </Filters>
        <Box ref={list}>
          <Lists search={search} onSearch={onSearch} marked={marked} />
        </Box>
      </Stack>
    </>
  );
}

function Lists({ search, onSearch, marked }: SessionsPageProps & { marked: Marked }) {
  const now = useMinute();
  const filter = filterOf(search, now);
  const place = placeOf(search);
  const page = search.page ?? 1;
  const chosen = statusesOf(search.status);
  const pick = (all: SessionStatus[]) => (chosen.length === 0 ? all : all.filter((status) => chosen.includes(status)));
  // What is going on is on the first page only: further ones are turned to for what has ended.
  const wantsActive = pick(ACTIVE).length > 0 && page === 1;
  const ended = pick(ENDED);
  const active = useQuery({ ...activeSessions(filter), enabled: wantsActive, placeholderData: keepPreviousData });
  const past = useQuery({ ...sessionPage({ ...filter, status: ended }, place), enabled: ended.length > 0, placeholderData: keepPreviousData });
  const counts = useQuery({ ...sessionCounts({ ...filter, status: undefined }), placeholderData: keepPreviousData });

  const failed = [active, past].find((query) => query.isLoadingError)?.error;
  if (failed) {
    return <Failure what="The sessions could not be loaded." error={failed} onRetry={() => void Promise.all([wantsActive && active.refetch(), ended.length > 0 && past.refetch(), counts.refetch()])} />;
  }
  if ((wantsActive && active.isPending) || (ended.length > 0 && past.isPending)) return <Loading what="sessions" />;

  const running = wantsActive ? inOrderOfWork((active.data?.sessions ?? []).filter((session) => pick(ACTIVE).includes(session.status))) : [];
  const shown = new Set(running.map((session) => session.id));
  const over = ended.length > 0 ? (past.data?.sessions ?? []).filter((session) => !shown.has(session.id)) : [];
  // What the lists show is at least what there is: counting is another question, and may be answered a moment later.
  const totalOf = (statuses: SessionStatus[], least: number) => Math.max(least, statuses.reduce((sum, status) => sum + (counts.data?.by_status[status] ?? 0), 0));
  const pending = totalOf(["pending"], 0);
  const listed = running.filter((session) => session.status === "pending").length;
  const total = totalOf(ended, (page === 1 ? 0 : place.offset) + over.length);
  if (running.length + over.length === 0 && page === 1) return <Emptiness filtered={leavesOut(search)} />;
  const turn = (change: object) => onSearch(readSearch({ ...search, page: undefined, ...change }));
  return (
    <Stack spacing={2.5}>
      {listed < pending && <NextUp />}
      {running.length > 0 && (
        <List
          title="Active"
          total={totalOf(pick(ACTIVE), running.length)}
          sessions={running}
          marked={marked}
          search={search}
          actions={<CancelMatching filter={filter} filtered={leavesOut(search)} statuses={pick(ACTIVE)} />}
          note={listed < pending ? `Of the ${pending.toLocaleString()} sessions that wait, the ${listed} that run next are shown.` : undefined}
        />
      )}
      {over.length > 0 && <List title="Ended" total={total} sessions={over} marked={marked} search={search} onSort={(by) => turn({ sort: undefined, order: undefined, ...nextSorting(search, by) })} />}
      {ended.length > 0 && (total > place.limit || page > 1) && <Pager page={page} rows={place.limit} total={total} onPage={(next) => turn({ page: next })} onRows={(rows) => turn({ rows })} />}
      <MarkedActions marked={[...running, ...over].filter(({ id }) => marked.has(id))} onClear={marked.clear} />
    </Stack>
  );
}

interface ListProps {
  title: "Active" | "Ended";
  total: number;
  sessions: SessionListItem[];
  marked: Marked;
  search: SessionSearch;
  onSort?: (by: SessionSort) => void;
  note?: string | undefined;
  actions?: ReactNode;
}

function List({ title, total, sessions, marked, search, onSort, note, actions }: ListProps) {
  const columns = useMemo(() => chosenColumns(search.columns), [search.columns]);
  const { mark, markAll } = marked;
  // Two hundred rows at once would be felt: they are drawn between what the reader does. A mark is drawn at once, in its row alone.
  const rows = useDeferredValue(sessions);
  const onMarkAll = useCallback((all: boolean) => markAll(sessions.map(({ id }) => id), all), [markAll, sessions]);
  const allMarked = sessions.every(({ id }) => marked.has(id));
  return (
    <Paper component="section" aria-label={`${title} sessions`} variant="outlined" sx={{ overflow: "hidden" }}>
      {/* More columns than the screen has room for are scrolled to; what is around them stays. */}
      <Box sx={{ overflowX: { md: "auto" } }}>
        <Box sx={{ minWidth: { md: leastWidth(columns) } }}>
          <ListHead {...{ title, total, columns, allMarked, onMarkAll }} {...(onSort ? { onSort, sorting: search } : {})} />
          <Rows sessions={rows} columns={columns} has={marked.has} onMark={mark} />
        </Box>
      </Box>
      {(note ?? actions) && (
        <Stack direction="row" sx={{ px: 2, py: 0.75, gap: 1, alignItems: "center", flexWrap: "wrap", borderTop: 1, borderColor: "divider" }}>
          <Typography variant="body2" color="textSecondary" sx={{ flex: 1 }}>
            {note}
          </Typography>
          {actions}
        </Stack>
      )}
    </Paper>
  );
}

interface RowsProps {
  sessions: readonly SessionListItem[];
  columns: readonly ColumnId[];
  has: Marked["has"];
  onMark: Marked["mark"];
}

const Rows = memo(function Rows({ sessions, columns, has, onMark }: RowsProps) {
  const grid = gridOf(columns);
  return (
    <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
      {sessions.map((session) => (
        <SessionRow key={session.id} session={session} columns={columns} grid={grid} marked={has(session.id)} onMark={onMark} />
      ))}
    </Box>
  );
});

function Emptiness({ filtered }: { filtered: boolean }) {
  if (filtered) return <Nothing title="No session matches">Try fewer words, another status or a longer time.</Nothing>;
  const action = (
    <LinkButton variant="contained" to="/alerts/new">
      Submit an alert
    </LinkButton>
  );
  return (
    <Nothing title="No investigations yet" action={action}>
      Send an alert and watch it being investigated. The sample incidents need neither a cluster nor an API key.
    </Nothing>
  );
}
