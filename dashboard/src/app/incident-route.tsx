import { getRouteApi } from "@tanstack/react-router";
import { IncidentPage } from "@/features/incident-detail/incident-page";

const route = getRouteApi("/incidents/$incidentId");

export function IncidentRoute() {
  const { incidentId } = route.useParams();
  const navigate = route.useNavigate();
  return <IncidentPage key={incidentId} incidentId={incidentId} onIncident={(made) => void navigate({ to: "/incidents/$incidentId", params: { incidentId: made } })} />;
}
