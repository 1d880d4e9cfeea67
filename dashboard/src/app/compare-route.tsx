import { getRouteApi } from "@tanstack/react-router";
import { ComparePage } from "@/features/compare/compare-page";

const route = getRouteApi("/sessions/$sessionId/compare");

export function CompareRoute() {
  const { sessionId } = route.useParams();
  const { with: other } = route.useSearch();
  const navigate = route.useNavigate();
  return <ComparePage sessionId={sessionId} other={other} onOther={(id) => void navigate({ search: id === undefined ? {} : { with: id } })} />;
}
