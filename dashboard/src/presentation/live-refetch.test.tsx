import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { act, render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { LiveProvider } from "@/live/connection";
import type { Listener } from "@/live/socket";
import { LiveSocket } from "@/live/socket";
import { useLiveRefetch } from "./live-refetch";

test("data is fetched again for messages that change it, and where such messages may have been missed", async () => {
  let answers = 0;
  function Page() {
    useLiveRefetch("sessions", ({ type }) => type === "pauses.changed", [["list"]], 0);
    return <p>{useQuery({ queryKey: ["list"], queryFn: () => Promise.resolve((answers += 1)) }).data}</p>;
  }
  const socket = new LiveSocket("ws://127.0.0.1/ws");
  let deliver: Listener = () => undefined;
  vi.spyOn(socket, "subscribe").mockImplementation((_, listener) => {
    deliver = listener;
    return () => undefined;
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <LiveProvider socket={socket}>
        <Page />
      </LiveProvider>
    </QueryClientProvider>,
  );
  await screen.findByText("1");
  act(() => deliver({ type: "pauses.changed", channel: "sessions", id: 1, pauses: [] }));
  await screen.findByText("2");
  act(() => deliver({ type: "incident.changed", channel: "sessions", id: 2, incident_id: "i" }));
  act(() => deliver({ type: "catchup.overflow", channel: "sessions", last_event_id: 300 }));
  await screen.findByText("3");
  expect(answers).toBe(3);
});
