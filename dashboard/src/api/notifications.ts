/** Notifications and their targets. */
import { queryOptions } from "@tanstack/react-query";
import type { NotificationStatus } from "@/wire/types";
import { api, expectData } from "./client";

export const notifications = (filter: { target?: string; status?: NotificationStatus }) =>
  queryOptions({
    queryKey: ["notifications", filter],
    queryFn: ({ signal }) => expectData(api.GET("/api/v1/notifications", { params: { query: { ...filter, limit: 100 } }, signal })),
    refetchInterval: 10_000,
  });

export function sendAgain(id: string) {
  return expectData(api.POST("/api/v1/notifications/{notification_id}/send", { params: { path: { notification_id: id } } }));
}

/** Sends a sample message and returns whether the target accepted it. */
export function testTarget(target: string) {
  return expectData(api.POST("/api/v1/notifications/test", { body: { target } }));
}
