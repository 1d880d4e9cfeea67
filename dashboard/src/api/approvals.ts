/** Tool calls that wait for a person's approval, and the decisions. */
import { queryOptions } from "@tanstack/react-query";
import type { Approval } from "@/wire/types";
import { api, expectData } from "./client";

export const APPROVALS_KEY = ["approvals"] as const;

/** The order in which they were requested and expire. */
function oldestFirst({ approvals }: { approvals: Approval[] }) {
  return { approvals: approvals.toReversed() };
}

/** The calls that wait, of all sessions. Of more than the server lists at once, those that expire next. */
export const pendingApprovals = queryOptions({
  queryKey: [...APPROVALS_KEY, "pending"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/approvals", { params: { query: { state: "pending", order: "asc" } }, signal })),
});

const FOLLOW_EVERY_MS = 2_000;

/** All calls of a session that needed an approval. */
export function sessionApprovals(id: string) {
  return queryOptions({
    queryKey: [...APPROVALS_KEY, id],
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/approvals", { params: { query: { session_id: id } }, signal })),
    // No message says that an approved call has begun, or that it has ended.
    refetchInterval: ({ state: { data } }) => (data?.approvals.some(({ state, outcome }) => state === "approved" && (outcome === "not_run" || outcome === "running")) ? FOLLOW_EVERY_MS : false),
    select: oldestFirst,
  });
}

export function approveCall(id: string, reason: string) {
  return expectData(api.POST("/api/v1/approvals/{approval_id}/approve", { params: { path: { approval_id: id } }, body: { reason } }));
}

export function rejectCall(id: string, reason: string) {
  return expectData(api.POST("/api/v1/approvals/{approval_id}/reject", { params: { path: { approval_id: id } }, body: { reason } }));
}
