import { getRouteApi } from "@tanstack/react-router";
import { useCallback } from "react";
import { ForkButton } from "@/features/fork/fork-button";
import { TracePage } from "@/features/trace/trace-page";

const route = getRouteApi("/sessions/$sessionId/trace");

export function TraceRoute() {
  const { sessionId } = route.useParams();
  const { call } = route.useSearch();
  const navigate = route.useNavigate();
  const onSelect = useCallback((next: string | undefined) => void navigate({ search: next === undefined ? {} : { call: next }, replace: true, resetScroll: false }), [navigate]);
  const onForked = (id: string) => void navigate({ to: "/sessions/$sessionId", params: { sessionId: id }, search: {} });
  return <TracePage key={sessionId} sessionId={sessionId} selected={call} onSelect={onSelect} fork={({ lane, turn }) => <ForkButton sessionId={sessionId} executionId={lane} turn={turn} onForked={onForked} />} />;
}
