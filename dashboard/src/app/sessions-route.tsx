import { getRouteApi } from "@tanstack/react-router";
import { SessionsPage } from "@/features/sessions/sessions-page";

const route = getRouteApi("/sessions");

export function SessionsRoute() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return <SessionsPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />;
}
