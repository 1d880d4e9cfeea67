import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { act, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { me, pauses, version, warnings } from "@/api/system";
import { LiveProvider } from "@/live/connection";
import type { Listener } from "@/live/socket";
import { LiveSocket } from "@/live/socket";
import type { PauseItem, SystemWarningItem } from "@/wire/types";
import { PauseBanner, VersionBanner, WarningBanner } from "./banners";

test("a page from before an update says so", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(version.queryKey, { version: "1.0.0" });
  render(
    <QueryClientProvider client={client}>
      <VersionBanner />
    </QueryClientProvider>,
  );
  expect(screen.queryByRole("status")).toBeNull();
  act(() => void client.setQueryData(version.queryKey, { version: "1.1.0" }));
  expect((await screen.findByRole("status")).textContent).toContain("updated from 1.0.0 to 1.1.0");
  expect(screen.getByRole("button", { name: "Reload" })).toBeTruthy();
});

const EVERYTHING: PauseItem = { chain_id: null, since: "2026-03-10T09:00:00Z", actor: "alice", reason: "the vendor is down", parks_running: false };

function show(current: PauseItem[]) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(me.queryKey, { author: "ada", denied: {} } as never);
  client.setQueryData(pauses.queryKey, { pauses: current });
  const socket = new LiveSocket("ws://127.0.0.1/ws");
  let deliver: Listener = () => undefined;
  vi.spyOn(socket, "subscribe").mockImplementation((_, listener) => {
    deliver = listener;
    return () => undefined;
  });
  render(
    <QueryClientProvider client={client}>
      <LiveProvider socket={socket}>
        <PauseBanner />
      </LiveProvider>
    </QueryClientProvider>,
  );
  const stored = (list: PauseItem[]) => vi.spyOn(api, "GET").mockResolvedValue({ data: { pauses: list }, response: new Response() } as never);
  return { stored, deliver: (told: PauseItem[]) => act(() => deliver({ type: "pauses.changed", channel: "sessions", id: 1, pauses: told })) };
}

test("a pause is shown with who and why when its event arrives, and goes when it ends, also if the event of its beginning comes late", async () => {
  const { stored, deliver } = show([]);
  expect(screen.queryByRole("status")).toBeNull();
  stored([EVERYTHING]);
  deliver([EVERYTHING]);
  expect((await screen.findByRole("status")).textContent).toMatch(/All work is paused by alice since .*: the vendor is down\. Alerts are taken and wait\./);
  stored([]);
  deliver([EVERYTHING]);
  await waitFor(() => expect(screen.queryByRole("status")).toBeNull());
});

test("each pause is ended by its own button", async () => {
  const { stored } = show([EVERYTHING, { ...EVERYTHING, chain_id: "kubernetes" }]);
  stored([EVERYTHING]);
  const asked = vi.spyOn(api, "DELETE").mockResolvedValue({ data: { pauses: [EVERYTHING] }, response: new Response() });
  await userEvent.click(screen.getByRole("button", { name: "Resume the chain kubernetes" }));
  expect(asked).toHaveBeenCalledWith("/api/v1/system/pause", { params: { query: { chain_id: "kubernetes" } } });
  await waitFor(() => expect(screen.getAllByRole("status")).toHaveLength(1));
});

test("a pause that could not be ended says so, and no other one does", async () => {
  show([EVERYTHING, { ...EVERYTHING, chain_id: "kubernetes" }]);
  vi.spyOn(api, "DELETE").mockResolvedValue({ response: new Response(null, { status: 503 }) });
  await userEvent.click(screen.getByRole("button", { name: "Resume the chain kubernetes" }));
  await screen.findByText(/It could not be resumed/);
  expect(screen.getAllByRole("status").map(({ textContent }) => textContent.includes("It could not be resumed"))).toEqual([false, true]);
});

async function showWarnings(...found: SystemWarningItem[]) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(warnings.queryKey, { warnings: found });
  const router = createRouter({ routeTree: createRootRoute({ component: () => <main>page<WarningBanner /></main> }), history: createMemoryHistory() });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
  await screen.findByText("page");
}

test("what keeps alerts from being investigated is shown on every page", async () => {
  await showWarnings({ source: "workers", message: "No process has workers.", since: null }, { source: "queue", message: "The queue grows.", since: null });
  expect(screen.getByRole("status").textContent).toBe("No process has workers. And 1 more. System");
});

test("other warnings stay on the System page", async () => {
  await showWarnings({ source: "mcp", message: "Tool server 'x' is away.", since: null });
  expect(screen.queryByRole("status")).toBeNull();
});
