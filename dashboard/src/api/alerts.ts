/** Submitting alerts: types, samples and default tools. */
import { queryOptions } from "@tanstack/react-query";
import type { AlertRequest } from "@/wire/types";
import { api, expectData } from "./client";

// These change only when the server restarts.
const STABLE = { staleTime: 5 * 60_000 };

export const alertTypes = queryOptions({
  queryKey: ["alert-types"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/alert-types", { signal })),
  ...STABLE,
});

export const samples = queryOptions({
  queryKey: ["samples"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/samples", { signal })),
  ...STABLE,
});

export const defaultTools = queryOptions({
  queryKey: ["default-tools"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/default-tools", { signal })),
  ...STABLE,
});

export function submitAlert(alert: AlertRequest) {
  return expectData(api.POST("/api/v1/alerts", { body: alert }));
}
