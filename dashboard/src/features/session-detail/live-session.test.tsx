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

async function show() {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(sessionKeys.detail("s"), FORK);
  for (const queryKey of [sessionKeys.chat("s"), sessionKeys.notes("s")]) client.setQueryData(queryKey, {});
  vi.spyOn(api, "GET").mockResolvedValue({ data: { events: [], last_event_id: 7, next_after: null }, response: new Response() } as never);
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

test("questions and hints are fetched again when messages about them may have been missed", async () => {
  const { client, deliver } = await show();
  const isStale = () => [sessionKeys.chat("s"), sessionKeys.notes("s")].map((key) => client.getQueryState(key)?.isInvalidated);
  expect(isStale()).toEqual([false, false]);
  deliver({ type: "catchup.overflow", channel: "session:s", last_event_id: 300 });
  await vi.waitFor(() => expect(isStale()).toEqual([true, true]));
});
