/** The audit log. */
import { infiniteQueryOptions } from "@tanstack/react-query";
import type { AuditAction } from "@/wire/types";
import { api, expectData } from "./client";

export interface AuditFilter {
  actor?: string | undefined;
  action?: AuditAction[] | undefined;
  from?: string | undefined;
}

const PAGE_LIMIT = 100;

export function auditPages(filter: AuditFilter) {
  return infiniteQueryOptions({
    queryKey: ["audit", filter],
    queryFn: ({ pageParam, signal }) => expectData(api.GET("/api/v1/audit", { params: { query: { ...filter, limit: PAGE_LIMIT, before: pageParam } }, signal })),
    initialPageParam: null as number | null,
    getNextPageParam: (page) => page.next_before,
  });
}

/** The address of the matching entries as JSON lines. */
export function auditExportAddress({ actor, action, from }: AuditFilter): string {
  const query = new URLSearchParams([...(actor ? [["actor", actor]] : []), ...(action ?? []).map((one) => ["action", one]), ...(from ? [["from", from]] : [])]);
  return `/api/v1/audit-export?${query.toString()}`;
}
