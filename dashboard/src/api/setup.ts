/** Setting an installation up, with the code that the terminal showed. */
import { queryOptions } from "@tanstack/react-query";
import { api, expectData } from "./client";

export const setup = queryOptions({
  queryKey: ["setup"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/setup", { signal })),
  staleTime: 30_000,
});

export const firstAlert = queryOptions({
  queryKey: ["setup", "first-alert"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/setup/first-alert", { signal })),
});

export function openSetup(code: string) {
  return expectData(api.POST("/api/v1/setup/open", { body: { code } }));
}

export function findModels(url: string) {
  return expectData(api.POST("/api/v1/setup/models", { body: { url } }));
}

export function setUpKey(vendor: string, key: string) {
  return expectData(api.POST("/api/v1/setup/key", { body: { vendor, key } }));
}

export function setUpLocalModel(url: string, model: string) {
  return expectData(api.POST("/api/v1/setup/local-model", { body: { url, model } }));
}

export function setUpToolServer(recipe: string, values: Record<string, string>) {
  return expectData(api.POST("/api/v1/setup/tool-server", { body: { recipe, values } }));
}
