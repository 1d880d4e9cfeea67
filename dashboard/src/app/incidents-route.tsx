import { getRouteApi } from "@tanstack/react-router";
import { IncidentsPage } from "@/features/incidents/incidents-page";

const route = getRouteApi("/incidents");

export function IncidentsRoute() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return <IncidentsPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />;
}
