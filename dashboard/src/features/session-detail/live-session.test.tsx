import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { sessionKeys } from "@/api/sessions";
import { LiveProvider } from "@/live/connection";
import type { Listener } from "@/live/socket";
import { LiveSocket } from "@/live/socket";
import type { SessionDetail } from "@/wire/types";
import { useLiveSession } from "./live-session";

const STAGE = { id: "x", started_at: "2026-01-01T00:00:00Z", completed_at: "2026-01-01T05:01:00Z", executions: [] };
const FORK = { id: "s", fork: {}, created_at: "2026-01-01T05:00:00Z", started_at: "2026-01-01T05:00:00Z", stages: [STAGE] } as unknown as SessionDetail;

async function show(stored: { session: SessionDetail } = { session: FORK }) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(sessionKeys.detail("s"), stored.session);
  for (const queryKey of [sessionKeys.chat("s"), sessionKeys.notes("s")]) client.setQueryData(queryKey, {});
  vi.spyOn(api, "GET").mockImplementation(((path: string) => Promise.resolve({ data: path === "/api/v1/sessions/{session_id}" ? stored.session : { events: [], last_event_id: 7, next_after: null }, response: new Response() })) as never);
  const socket = new LiveSocket("ws://127.0.0.1/ws");
  let deliver: Listener = () => undefined;
  vi.spyOn(socket, "subscribe").mockImplementation((_, listener) => {
    deliver = listener;
    return () => undefined;
  });
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>
      <LiveProvider socket={socket}>{children}</LiveProvider>
    </QueryClientProvider>
  );
  const hook = renderHook(() => useLiveSession("s"), { wrapper });
  await vi.waitFor(() => expect(hook.result.current.feed.phase).toBe("ready"));
  return { ...hook, client, deliver: (message: Parameters<Listener>[0]) => act(() => deliver(message)) };
}

test("a fork is the same object in every frame, so that its rows are not rendered for each piece of text", async () => {
  const { result, rerender } = await show();
  const { data } = result.current.session;
  expect(data?.stages[0]?.started_at).toBe("2026-01-01T05:00:00Z");
  rerender();
  expect(result.current.session.data).toBe(data);
});

test("a session is what the server says that it is, also when a message about an earlier status comes late", async () => {
  const stored = { session: { ...FORK, status: "completed" } as SessionDetail };
  const { result, client, deliver } = await show(stored);
  const shown = new Set<string | undefined>();
  client.getQueryCache().subscribe(() => shown.add(client.getQueryData<SessionDetail>(sessionKeys.detail("s"))?.status));
  deliver({ channel: "session:s", session_id: "s", id: 1, type: "session.status", status: "in_progress", alert_type: "t", at: "" });
  await vi.waitFor(() => expect(api.GET).toHaveBeenCalledWith("/api/v1/sessions/{session_id}", expect.anything()));
  expect([...shown]).toEqual(["completed"]);
  stored.session = { ...stored.session, status: "failed" };
  deliver({ channel: "session:s", session_id: "s", id: 2, type: "session.completed", status: "failed", alert_type: "t", at: "", error_message: null, analysis_is_partial: false });
  await vi.waitFor(() => expect(result.current.session.data?.status).toBe("failed"));
});

test("questions and hints are fetched again when messages about them may have been missed", async () => {
  const { client, deliver } = await show();
  const isStale = () => [sessionKeys.chat("s"), sessionKeys.notes("s")].map((key) => client.getQueryState(key)?.isInvalidated);
  expect(isStale()).toEqual([false, false]);
  deliver({ type: "catchup.overflow", channel: "session:s", last_event_id: 300 });
  await vi.waitFor(() => expect(isStale()).toEqual([true, true]));
});
