/** Investigations taken up again from one of their steps, and the models that can go on. */
import { queryOptions } from "@tanstack/react-query";
import type { ForkRequest } from "@/wire/types";
import { api, expectData } from "./client";

/** Those that can be asked now. */
export const models = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => expectData(api.GET("/api/v1/models", { signal })),
  staleTime: 60_000,
});

/** The id of the new session. */
export async function forkSession(sessionId: string, body: ForkRequest): Promise<string> {
  const { session_id: id } = await expectData(api.POST("/api/v1/sessions/{session_id}/fork", { params: { path: { session_id: sessionId } }, body }));
  return id;
}
