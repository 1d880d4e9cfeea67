/** The server: its state, the login, setup and usage. */
import { queryOptions } from "@tanstack/react-query";
import type { AccessRole, HealthReport, Period } from "@/wire/types";
import { api, expectData } from "./client";

export const me = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/me", { signal })),
  staleTime: 60_000,
});

export function login(token: string) {
  return expectData(api.POST("/api/v1/login", { body: { token } }));
}

/** The provider's address for signing out there, too, if it has one. */
export function logout(): Promise<{ continue_at: string } | undefined> {
  return expectData(api.POST("/api/v1/logout"));
}

export const tokens = queryOptions({
  queryKey: ["tokens"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/tokens", { signal })),
});

export function createToken(name: string, role: AccessRole, expiresAt: Date | null) {
  return expectData(api.POST("/api/v1/tokens", { body: { name, role, expires_at: expiresAt?.toISOString() ?? null } }));
}

export function revokeToken(name: string) {
  return expectData(api.DELETE("/api/v1/tokens/{name}", { params: { path: { name } } }));
}

export const version = queryOptions({
  queryKey: ["system", "version"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/version", { signal })),
  staleTime: 60_000,
});

export const mcpServers = queryOptions({
  queryKey: ["system", "mcp-servers"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/mcp-servers", { signal })),
  refetchInterval: 10_000,
});

export const warnings = queryOptions({
  queryKey: ["system", "warnings"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/warnings", { signal })),
  refetchInterval: 60_000,
});

export const refusedDeliveries = queryOptions({
  queryKey: ["system", "refused-deliveries"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/refused-deliveries", { signal })),
  refetchInterval: 60_000,
});

export const queue = queryOptions({
  queryKey: ["system", "queue"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/queue", { signal })),
  refetchInterval: 5_000,
});

export const pauses = queryOptions({
  // Part of the queue's key: what is paused is shown there too.
  queryKey: [...queue.queryKey, "pauses"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/system/pause", { signal })),
  // Changes arrive as live events; this catches a missed one.
  refetchInterval: 60_000,
});

/** Starts no more work. Running sessions continue, unless `now` parks them. */
export function pauseAll(reason: string, now: boolean) {
  return expectData(api.POST("/api/v1/system/pause", { body: { reason, now } }));
}

/** Ends the pause of a chain, or of everything. */
export function resume(chainId: string | null) {
  return expectData(api.DELETE("/api/v1/system/pause", { params: { query: { chain_id: chainId } } }));
}

/** The effective configuration, as YAML. The YAML library is large and loaded with the first request. */
export const configYaml = queryOptions({
  queryKey: ["system", "config"],
  queryFn: async ({ signal }) => {
    const { config } = await expectData(api.GET("/api/v1/system/config", { signal }));
    const { stringify } = await import("yaml");
    return stringify(config, { lineWidth: 120 });
  },
  staleTime: 60_000,
});

export function reloadConfig() {
  return expectData(api.POST("/api/v1/system/reload"));
}

/** An unhealthy server responds with status 503 and the same report. */
export const health = queryOptions({
  queryKey: ["system", "health"],
  queryFn: async ({ signal }) => {
    const { data, error } = await api.GET("/health", { signal });
    const report: unknown = data ?? error;
    if (typeof report !== "object" || report === null || !("checks" in report)) throw new Error("The server gives no report.");
    return report as HealthReport;
  },
  refetchInterval: 10_000,
});

export const setup = queryOptions({
  queryKey: ["setup"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/setup", { signal })),
  staleTime: 30_000,
});

export const firstAlert = queryOptions({
  queryKey: ["setup", "first-alert"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/setup/first-alert", { signal })),
});

/** Unlocks the setup with the code that the terminal showed. */
export function openSetup(code: string) {
  return expectData(api.POST("/api/v1/setup/open", { body: { code } }));
}

export function findModels(url: string, key: string) {
  return expectData(api.POST("/api/v1/setup/models", { body: { url, key } }));
}

export function setUpKey(vendor: string, key: string) {
  return expectData(api.POST("/api/v1/setup/key", { body: { vendor, key } }));
}

export function setUpLocalModel(url: string, model: string, key: string) {
  return expectData(api.POST("/api/v1/setup/local-model", { body: { url, model, key } }));
}

export function setUpToolServer(recipe: string, values: Record<string, string>) {
  return expectData(api.POST("/api/v1/setup/tool-server", { body: { recipe, values } }));
}

/** Calls, tokens and cost of a period. */
export function usage(period: Period) {
  return queryOptions({
    queryKey: ["usage", period],
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/usage", { params: { query: { period } }, signal })),
    refetchInterval: 60_000,
  });
}

/** The usage of each day of a period, and the verdicts of the last weeks. */
export function usageTrends(period: Period) {
  return queryOptions({
    queryKey: ["usage", "trends", period],
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/usage/trends", { params: { query: { period } }, signal })),
    refetchInterval: 60_000,
  });
}

/** The address of the figures of a period as CSV. */
export function usageTableAddress(period: Period): string {
  return `/api/v1/usage/table.csv?period=${period}`;
}
