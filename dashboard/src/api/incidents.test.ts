import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { api } from "./client";
import { incidentPages } from "./incidents";

test("a long list of incidents is refetched in few requests", async () => {
  const asked: unknown[] = [];
  vi.spyOn(api, "GET").mockImplementation(((_: string, { params }: { params: { query: { limit: number; cursor: string | null } } }) => {
    asked.push([params.query.limit, params.query.cursor]);
    return Promise.resolve({ data: { incidents: [], next_cursor: `after ${asked.length}` }, response: new Response() });
  }) as never);
  await new QueryClient().infiniteQuery({ ...incidentPages({}), pages: 3 });
  expect(asked).toEqual([
    [50, null],
    [200, "after 1"],
    [200, "after 2"],
  ]);
});
