/** Who is asking. */
import { queryOptions } from "@tanstack/react-query";
import { api, expectData } from "./client";

export const me = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/me", { signal })),
  staleTime: 60_000,
});

export function login(token: string) {
  return expectData(api.POST("/api/v1/login", { body: { token } }));
}

export function logout() {
  return expectData(api.POST("/api/v1/logout"));
}
