import { getRouteApi } from "@tanstack/react-router";
import { NewAlertPage } from "@/features/alerts/new-alert-page";

const route = getRouteApi("/alerts/new");

export function NewAlertRoute() {
  const { from } = route.useSearch();
  const navigate = route.useNavigate();
  return <NewAlertPage from={from} onSubmitted={(sessionId) => void navigate({ to: "/sessions/$sessionId", params: { sessionId } })} />;
}
