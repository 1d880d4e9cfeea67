/** What models and tools were used for, and what it cost. */
import { queryOptions } from "@tanstack/react-query";
import type { Period } from "@/wire/types";
import { api, expectData } from "./client";

export function usage(period: Period) {
  return queryOptions({
    queryKey: ["usage", period],
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/usage", { params: { query: { period } }, signal })),
    refetchInterval: 60_000,
  });
}

/** Where the browser gets the same as a table for a spreadsheet. */
export function usageTable(period: Period): string {
  return `/api/v1/usage/table.csv?period=${period}`;
}
