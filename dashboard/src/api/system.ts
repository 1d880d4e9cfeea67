/** The state of the server. */
import { queryOptions } from "@tanstack/react-query";
import type { HealthReport } from "@/wire/types";
import { api, expectData } from "./client";

const OFTEN = { refetchInterval: 10_000 };

export const version = queryOptions({
  queryKey: ["system", "version"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/version", { signal })),
  staleTime: 60_000,
});

export const mcpServers = queryOptions({
  queryKey: ["system", "mcp-servers"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/mcp-servers", { signal })),
  ...OFTEN,
});

export const warnings = queryOptions({
  queryKey: ["system", "warnings"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/warnings", { signal })),
  refetchInterval: 60_000,
});

export const queue = queryOptions({
  queryKey: ["system", "queue"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/queue", { signal })),
  refetchInterval: 5_000,
});

export const pauses = queryOptions({
  queryKey: ["system", "pause"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/pause", { signal })),
  // A change is told live; this is for one that was missed.
  refetchInterval: 60_000,
});

/** Begin nothing more. What runs goes on, unless it is to be parked `now`. */
export function pauseAll(reason: string, now: boolean) {
  return expectData(api.POST("/api/v1/system/pause", { body: { reason, now } }));
}

/** End the pause of a chain, or that of everything. */
export function resume(chainId: string | null) {
  return expectData(api.DELETE("/api/v1/system/pause", { params: { query: { chain_id: chainId } } }));
}

export const config = queryOptions({
  queryKey: ["system", "config"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/config", { signal })),
  staleTime: 60_000,
});

/** An unhealthy server says so with status 503 and the same report. */
export const health = queryOptions({
  queryKey: ["system", "health"],
  queryFn: async ({ signal }) => {
    const { data, error } = await api.GET("/health", { signal });
    const report: unknown = data ?? error;
    if (typeof report !== "object" || report === null || !("checks" in report)) throw new Error("The server gives no report.");
    return report as HealthReport;
  },
  ...OFTEN,
});
