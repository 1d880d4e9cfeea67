import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { act, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sessionDetail } from "@/api/sessions";
import { LiveProvider } from "@/live/connection";
import type { Listener } from "@/live/socket";
import { LiveSocket } from "@/live/socket";
import type { SessionDetail, SessionStatus } from "@/wire/types";
import { notify, setWatched, WatchedSessionNotifier } from "./watched-sessions";

const notified: string[] = [];

class FakeNotification {
  static permission = "granted";
  onclick: (() => void) | null = null;

  constructor(title: string) {
    notified.push(title);
  }
}

let hidden = true;

beforeEach(() => {
  notified.length = 0;
  hidden = true;
  const icon = Object.assign(document.createElement("link"), { rel: "icon" });
  icon.setAttribute("href", "/icon.svg");
  document.head.append(icon);
  vi.stubGlobal("Notification", FakeNotification);
  vi.spyOn(document, "hidden", "get").mockImplementation(() => hidden);
});
afterEach(() => document.querySelector("link[rel=icon]")?.remove());

const icon = () => document.querySelector("link[rel=icon]")?.getAttribute("href");

async function show() {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(sessionDetail("s").queryKey, { id: "s", title: "The disk is full" } as SessionDetail);
  const socket = new LiveSocket("ws://127.0.0.1/ws");
  let deliver: Listener = () => undefined;
  vi.spyOn(socket, "subscribe").mockImplementation((_, listener) => {
    deliver = listener;
    return () => undefined;
  });
  const router = createRouter({ routeTree: createRootRoute({ component: () => <main>page<WatchedSessionNotifier /></main> }), history: createMemoryHistory() });
  render(
    <QueryClientProvider client={client}>
      <LiveProvider socket={socket}>
        <RouterProvider router={router as never} />
      </LiveProvider>
    </QueryClientProvider>,
  );
  await screen.findByText("page");
  const about = { channel: "sessions", session_id: "s", id: 1, alert_type: "t", at: "" };
  return {
    status: (status: SessionStatus) => act(() => deliver({ ...about, type: "session.status", status })),
    ended: () => act(() => deliver({ ...about, type: "session.completed", status: "completed", error_message: null, analysis_is_partial: false })),
  };
}

test("a watched session that waits or ends is reported to a reader of another page, and marks the tab until they look", async () => {
  setWatched("s", true);
  const { status, ended } = await show();
  status("in_progress");
  expect(icon()).toBe("/icon.svg");
  status("waiting");
  await vi.waitFor(() => expect(notified).toEqual(["Waiting: The disk is full"]));
  expect([icon(), localStorage.getItem("sessions:watched")?.includes("s")]).toEqual(["/icon-news.svg", true]);
  ended();
  await vi.waitFor(() => expect(notified).toEqual(["Waiting: The disk is full", "No verdict: The disk is full"]));
  expect(localStorage.getItem("sessions:watched")?.includes("s")).toBe(false);
  hidden = false;
  document.dispatchEvent(new Event("visibilitychange"));
  expect(icon()).toBe("/icon.svg");
});

test("a session that is not watched, or ends before the reader's eyes, is not notified", async () => {
  const { ended } = await show();
  ended();
  setWatched("s", true);
  hidden = false;
  ended();
  await Promise.resolve();
  expect([notified, icon()]).toEqual([[], "/icon.svg"]);
});

test("a browser that shows no notifications of pages marks the tab", async () => {
  class Refusing {
    static permission = "granted";
    constructor() {
      throw new TypeError("Failed to construct 'Notification': Illegal constructor.");
    }
  }
  vi.stubGlobal("Notification", Refusing);
  expect(() => notify("Waits for approval", "a", () => undefined)).not.toThrow();
  setWatched("s", true);
  const { status } = await show();
  status("waiting");
  expect(icon()).toBe("/icon-news.svg");
});
