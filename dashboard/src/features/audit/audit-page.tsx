/** The audit log: who did what, when and from where. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { auditExportAddress, auditPages } from "@/api/audit";
import { Choice, SearchBox } from "@/components/fields";
import { TextLink } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { PERIODS, useFixedPeriodStart } from "@/components/search-params";
import { Loaded, Nothing } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import type { AuditEntry } from "@/wire/types";
import type { AuditSearch } from "./search";
import { ACTIONS, readAuditSearch } from "./search";

const route = getRouteApi("/audit");

export function AuditPage() {
  usePageTitle("Audit log");
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const from = useFixedPeriodStart(search.since);
  const set = (change: { [Key in keyof AuditSearch]?: string | undefined }) => void navigate({ search: readAuditSearch({ ...search, ...change }), replace: true });
  const filter = { ...(search.actor ? { actor: search.actor } : {}), ...(search.action ? { action: [search.action] } : {}), ...(from ? { from } : {}) };
  const query = useInfiniteQuery(auditPages(filter));
  return (
    <Stack spacing={2}>
      <Typography variant="h1">Audit log</Typography>
      <Stack component="search" direction="row" sx={{ flexWrap: "wrap", gap: 1, alignItems: "center" }}>
        <SearchBox label="Name of a person, program or sender" text={search.actor ?? ""} onText={(actor) => set({ actor })} />
        <Choice label="Action" value={search.action ?? ""} onValue={(action) => set({ action })} all="Any action">
          {Object.entries(ACTIONS)}
        </Choice>
        <Choice label="Time" value={search.since ?? ""} onValue={(since) => set({ since })} all="Any time">
          {Object.entries(PERIODS).map(([period, { label }]) => [period, label] as const)}
        </Choice>
        <Button size="small" color="inherit" startIcon={<Download size={15} />} href={auditExportAddress(filter)}>
          JSON lines
        </Button>
      </Stack>
      <Loaded query={query} what="the audit log" failure="The audit log could not be loaded.">
        {({ pages }) => {
          const entries = pages.flatMap((page) => page.entries);
          return entries.length === 0 ? <Nothing title="No entries match" /> : <Entries entries={entries} />;
        }}
      </Loaded>
      {query.hasNextPage && (
        <Button loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()} sx={{ alignSelf: "center" }}>
          Show older entries
        </Button>
      )}
    </Stack>
  );
}

const TABLE = {
  width: "100%",
  borderCollapse: "collapse",
  fontSize: "0.85rem",
  "& th, & td": { px: 1, py: 0.5, textAlign: "left", verticalAlign: "top" },
  "& td": { borderTop: 1, borderColor: "divider", overflowWrap: "anywhere" },
  "& td:not(:last-of-type)": { whiteSpace: { md: "nowrap" } },
  // On a narrow screen the columns have their width from the screen, and the details are on a line of their own.
  "& tr": { display: { xs: "grid", md: "table-row" }, gridTemplateColumns: "1fr 1fr 1.2fr 1.4fr" },
  "& td:last-of-type": { gridColumn: "1 / -1", borderTop: { xs: 0, md: 1 }, borderColor: "divider", pt: { xs: 0, md: 0.5 } },
  "& td:last-of-type:empty": { display: { xs: "none", md: "table-cell" } },
  "& th:last-of-type": { display: { xs: "none", md: "table-cell" } },
} as const;

function Entries({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    // Focusable, so that it can be scrolled by keyboard.
    <Box tabIndex={0} role="region" aria-label="Entries" sx={{ overflowX: "auto" }}>
      <Box component="table" sx={TABLE}>
        <thead>
          <tr>
            {["Time", "Who", "From", "What", "Details"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={entry.id}>
              <td>
                <RelativeTime at={entry.at} />
              </td>
              <td>{entry.actor}</td>
              <td>{entry.origin ?? "–"}</td>
              <td>{actionLabel(entry.action)}</td>
              <Box component="td" sx={{ fontFamily: MONO, fontSize: "0.78rem" }}>
                <EntryDetails entry={entry} />
              </Box>
            </tr>
          ))}
        </tbody>
      </Box>
    </Box>
  );
}

function EntryDetails({ entry: { session_id: session, details } }: { entry: AuditEntry }) {
  const texts = Object.entries(details).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return (
    <>
      {session && (
        <>
          <TextLink to="/sessions/$sessionId" params={{ sessionId: session }}>
            {session.slice(0, 8)}
          </TextLink>{" "}
        </>
      )}
      {texts.join(", ")}
    </>
  );
}

/** The words for an action; a newer server may have others. */
function actionLabel(action: string): string {
  return new Map(Object.entries(ACTIONS)).get(action) ?? action;
}
