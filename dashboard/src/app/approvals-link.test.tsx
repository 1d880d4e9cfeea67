import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { act, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { pendingApprovals } from "@/api/approvals";
import { api } from "@/api/client";
import { me } from "@/api/system";
import { ApprovalsPage } from "@/features/approvals/approvals-page";
import { LiveProvider } from "@/live/connection";
import type { Listener } from "@/live/socket";
import { LiveSocket } from "@/live/socket";
import { ApprovalsLink } from "./approvals-link";

const WAITING = { id: "a", session_id: "s", server: "cluster", tool: "restart", arguments: "{}", state: "pending", outcome: "not_run", requested_at: "2026-03-10T09:00:00Z", expires_at: "2026-03-10T09:30:00Z", reason: "" };
const notified: string[] = [];

class FakeNotification {
  static permission = "default";
  static requestPermission() {
    FakeNotification.permission = "granted";
    return Promise.resolve("granted");
  }

  constructor(title: string) {
    notified.push(title);
  }
}

function show() {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(pendingApprovals.queryKey, { approvals: [] });
  client.setQueryData(me.queryKey, { author: "ada", denied: {} } as never);
  const refetched = vi.spyOn(api, "GET").mockResolvedValue({ data: { approvals: [WAITING] }, response: new Response() } as never);
  const socket = new LiveSocket("ws://127.0.0.1/ws");
  const listeners: Listener[] = [];
  vi.spyOn(socket, "subscribe").mockImplementation((_, listener) => {
    listeners.push(listener);
    return () => undefined;
  });
  const page = (
    <nav>
      <ApprovalsLink />
      <ApprovalsPage />
    </nav>
  );
  const router = createRouter({ routeTree: createRootRoute({ component: () => page }), history: createMemoryHistory() });
  render(
    <QueryClientProvider client={client}>
      <LiveProvider socket={socket}>
        <RouterProvider router={router as never} />
      </LiveProvider>
    </QueryClientProvider>,
  );
  return { refetched, deliver: (message: Parameters<Listener>[0]) => act(() => listeners.forEach((listener) => listener(message))) };
}

test("a call that waits is counted in the navigation, and notified while the page is hidden if the reader has asked for that", async () => {
  vi.stubGlobal("Notification", FakeNotification);
  vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  const { refetched, deliver } = show();
  const asks = () =>
    deliver({ channel: "sessions", session_id: "s", id: 1, type: "approval.changed", approval_id: "a", server: "cluster", tool: "restart", state: "pending", expires_at: "", decided_by: null });
  const ask = await screen.findByRole("button", { name: "Notify me of new calls" });
  expect(screen.getByRole("link", { name: "Approvals" })).toBeTruthy();
  asks();
  expect(await screen.findByRole("link", { name: "Approvals 1" })).toBeTruthy();
  expect(refetched).toHaveBeenCalled();
  expect(notified).toEqual([]);
  await userEvent.click(ask);
  expect(screen.queryByRole("button", { name: "Notify me of new calls" })).toBeNull();
  asks();
  expect(notified).toEqual(["Waits for approval: cluster.restart"]);
});

test("calls are counted again when messages about them may have been missed", async () => {
  const { deliver } = show();
  expect(await screen.findByRole("link", { name: "Approvals" })).toBeTruthy();
  deliver({ type: "catchup.overflow", channel: "sessions", last_event_id: 300 });
  expect(await screen.findByRole("link", { name: "Approvals 1" })).toBeTruthy();
});
