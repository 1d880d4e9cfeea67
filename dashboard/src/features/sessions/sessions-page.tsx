/** The list of sessions: what is running and waiting on top, what has ended below. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Paper from "@mui/material/Paper";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useRef } from "react";
import { ACTIVE, activeSessions, ENDED, sessionPages } from "@/api/sessions";
import { useShortcuts } from "@/components/keyboard";
import { LinkButton } from "@/components/links";
import { moveRowFocus } from "@/components/list-row";
import { useMinute } from "@/components/now";
import { isFiltered } from "@/components/search-words";
import { Failure, Loading, Nothing } from "@/components/states";
import { useTitle } from "@/components/title";
import type { SessionListItem, SessionStatus } from "@/wire/types";
import { CancelMatching } from "./cancel-matching";
import { Filters } from "./filters";
import { NextUp } from "./next-up";
import { inOrderOfWork } from "./live-list";
import type { SessionSearch } from "./search";
import { filterOf, statusesOf } from "./search";
import { COLUMNS, SessionRow } from "./session-row";
import { useLiveList } from "./use-live-list";

export function SessionsPage({ search, onSearch }: { search: SessionSearch; onSearch: (search: SessionSearch) => void }) {
  useLiveList();
  useTitle("Sessions");
  const list = useRef<HTMLDivElement>(null);
  const searchBox = useRef<HTMLInputElement>(null);
  useShortcuts({
    j: () => moveRowFocus(list.current, 1),
    k: () => moveRowFocus(list.current, -1),
    "/": () => searchBox.current?.focus(),
  });
  return (
    <Stack spacing={2}>
      <Typography variant="h1" sx={{ position: "absolute", left: -9999 }}>
        Sessions
      </Typography>
      <Filters search={search} onChange={onSearch} searchBox={searchBox} />
      <Box ref={list}>
        <Lists search={search} />
      </Box>
    </Stack>
  );
}

function Lists({ search }: { search: SessionSearch }) {
  const filter = filterOf(search, useMinute());
  const chosen = statusesOf(search.status);
  const pick = (all: SessionStatus[]) => (chosen.length === 0 ? all : all.filter((status) => chosen.includes(status)));
  const wantsActive = pick(ACTIVE).length > 0;
  const ended = pick(ENDED);
  const active = useQuery({ ...activeSessions(filter), enabled: wantsActive, placeholderData: keepPreviousData });
  const pages = useInfiniteQuery({ ...sessionPages({ ...filter, status: ended }), enabled: ended.length > 0, placeholderData: keepPreviousData });

  const failed = [active, pages].find((query) => query.isLoadingError)?.error;
  if (failed) {
    return <Failure what="The sessions could not be loaded." error={failed} onRetry={() => void Promise.all([wantsActive && active.refetch(), ended.length > 0 && pages.refetch()])} />;
  }
  if ((wantsActive && active.isPending) || (ended.length > 0 && pages.isPending)) return <Loading what="sessions" />;

  const running = wantsActive ? inOrderOfWork((active.data?.sessions ?? []).filter((session) => pick(ACTIVE).includes(session.status))) : [];
  const shown = new Set(running.map((session) => session.id));
  const past = ended.length > 0 ? (pages.data?.pages.flatMap((page) => page.sessions) ?? []).filter((session) => !shown.has(session.id)) : [];
  if (running.length + past.length === 0) return <Emptiness filtered={isFiltered(search)} />;
  return (
    <Stack spacing={2.5}>
      {active.data?.next_cursor && <NextUp />}
      {running.length > 0 && <List title="Active" sessions={running} actions={<CancelMatching filter={filter} filtered={isFiltered(search)} statuses={pick(ACTIVE)} />} note={active.data?.next_cursor ? `Of the sessions that wait, the newest ${running.filter((session) => session.status === "pending").length} are shown.` : undefined} />}
      {past.length > 0 && <List title="Ended" sessions={past} />}
      {pages.isFetchNextPageError && <Failure what="Older sessions could not be loaded." error={pages.error} />}
      {pages.hasNextPage && ended.length > 0 && (
        <Button onClick={() => void pages.fetchNextPage()} loading={pages.isFetchingNextPage} sx={{ alignSelf: "center" }}>
          Show older sessions
        </Button>
      )}
    </Stack>
  );
}

function List({ title, sessions, note, actions }: { title: string; sessions: SessionListItem[]; note?: string | undefined; actions?: ReactNode }) {
  return (
    <Paper component="section" aria-label={`${title} sessions`} variant="outlined" sx={{ overflow: "hidden" }}>
      <Box sx={{ display: "grid", gridTemplateColumns: COLUMNS, columnGap: 2, px: 2, py: 0.9, alignItems: "baseline" }}>
        <Typography variant="h2">
          {title}
          <Box component="span" sx={{ ml: 1, color: "text.secondary", fontWeight: 400 }}>
            {sessions.length}
          </Box>
        </Typography>
        <Heading>Alert</Heading>
        <Heading>{title === "Active" ? "Stage" : "Verdict, author"}</Heading>
        <Heading right>Tokens</Heading>
        <Heading right>Duration</Heading>
        <Heading right>Submitted</Heading>
      </Box>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {sessions.map((session) => (
          <SessionRow key={session.id} session={session} />
        ))}
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

function Heading({ children, right = false }: { children: string; right?: boolean }) {
  return (
    <Typography variant="caption" color="textSecondary" aria-hidden sx={{ display: { xs: "none", md: "block" }, textAlign: right ? "right" : "left" }}>
      {children}
    </Typography>
  );
}

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
