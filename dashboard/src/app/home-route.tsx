/** The front page: incidents, once a monitoring system has opened one; until then the sessions, as for those who send alerts themselves. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { anyIncident } from "@/api/incidents";
import { loadedLater } from "@/components/loaded-later";
import { Loading } from "@/components/states";
import { readIncidentSearch } from "@/features/incidents/search";
import { readSearch } from "@/features/sessions/search";
import { SetupOffer } from "@/features/setup/setup-offer";
import { SessionsPage } from "@/features/sessions/sessions-page";
import type { HomeSearch } from "./home-search";
import { isAboutSessions } from "./home-search";

const IncidentsPage = lazy(loadedLater(async () => ({ default: (await import("@/features/incidents/incidents-page")).IncidentsPage })));
const route = getRouteApi("/");

export function HomeRoute() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: any, isPending } = useQuery(anyIncident);
  const onSearch = (next: HomeSearch) => void navigate({ search: next, replace: true });
  const sessions = isAboutSessions(search);
  if (isPending && !sessions) return <Loading what="the page" />;
  if (sessions || !any) {
    return (
      <>
        <SetupOffer />
        <SessionsPage search={readSearch({ ...search })} onSearch={onSearch} />
      </>
    );
  }
  return (
    <Suspense fallback={<Loading what="incidents" />}>
      <IncidentsPage search={readIncidentSearch({ ...search })} onSearch={onSearch} />
    </Suspense>
  );
}
