import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { TracePage } from "@/features/trace/trace-page";

const route = getRouteApi("/sessions/$sessionId/trace");

export function TraceRoute() {
  const { sessionId } = route.useParams();
  const { call } = route.useSearch();
  const navigate = route.useNavigate();
  const onSelect = useCallback((next: string | undefined) => void navigate({ search: next === undefined ? {} : { call: next }, replace: true, resetScroll: false }), [navigate]);
  return <TracePage sessionId={sessionId} selected={call} onSelect={onSelect} />;
}
