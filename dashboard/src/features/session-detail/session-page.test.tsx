import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import type * as Router from "@tanstack/react-router";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { act, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { LiveProvider } from "@/live/connection";
import { LiveSocket } from "@/live/socket";
import { SessionPage } from "./session-page";

vi.mock("@tanstack/react-router", async (load) => ({ ...(await load<typeof Router>()), getRouteApi: () => ({ useParams: () => ({ sessionId: "s" }) }) }));

test("the page of no session asks for nothing more", async () => {
  vi.useFakeTimers();
  const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
  const asked = vi.spyOn(api, "GET").mockResolvedValue({ response: new Response(null, { status: 404 }) } as never);
  const router = createRouter({ routeTree: createRootRoute({ component: SessionPage }), history: createMemoryHistory() });
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <LiveProvider socket={new LiveSocket("ws://127.0.0.1/ws")}>
        <RouterProvider router={router as never} />
      </LiveProvider>
    </QueryClientProvider>,
  );
  await pass(100);
  screen.getByText("There is no such session");
  const before = asked.mock.calls.length;
  await pass(60_000);
  vi.useRealTimers();
  expect(asked.mock.calls.length).toBe(before);
});
