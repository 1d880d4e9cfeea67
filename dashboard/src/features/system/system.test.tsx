import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { me, queue, tokens } from "@/api/system";
import { Queue } from "./queue";
import { Tokens } from "./tokens";

const QUEUE = { running: 0, pending: 0, waiting: 0, max_concurrent_sessions: 5, max_queue_size: null, oldest_pending_at: null, pod_id: "here", running_by_pod: {}, pauses: [], workers: [], next_sessions: [] };
const REFUSED = { response: new Response(null, { status: 503 }) } as never;

function show(part: ReactNode) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(me.queryKey, { author: "ada", denied: {} } as never);
  client.setQueryData(queue.queryKey, QUEUE as never);
  client.setQueryData(tokens.queryKey, { tokens: [] });
  vi.spyOn(api, "GET").mockResolvedValue(REFUSED);
  render(<QueryClientProvider client={client}>{part}</QueryClientProvider>);
  return client;
}

test("a dialog and what is typed in it stay while the data of the page cannot be loaded once more", async () => {
  const client = show(<Queue />);
  await userEvent.click(screen.getByRole("button", { name: "Pause all work" }));
  await userEvent.type(screen.getByLabelText("Reason"), "The vendor is down");
  await act(() => client.refetchQueries({ queryKey: queue.queryKey }));
  await screen.findByText("The queue could not be loaded.");
  expect(screen.getByLabelText<HTMLInputElement>("Reason").value).toBe("The vendor is down");
});

test("a dialog does not show why its last attempt failed", async () => {
  show(<Queue />);
  vi.spyOn(api, "POST").mockResolvedValue(REFUSED);
  await userEvent.click(screen.getByRole("button", { name: "Pause all work" }));
  await userEvent.click(screen.getByRole("button", { name: "Pause" }));
  await screen.findByText("It could not be paused.");
  await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
  await userEvent.click(screen.getByRole("button", { name: "Pause all work" }));
  await screen.findByRole("dialog");
  expect(screen.queryByText("It could not be paused.")).toBeNull();
});

test("no token is created whose text nobody saw", async () => {
  show(<Tokens />);
  let answer: () => void = () => undefined;
  vi.spyOn(api, "POST").mockReturnValue(new Promise((resolve) => (answer = () => resolve({ data: { token: "tarsy_secret" }, response: new Response() }))));
  await userEvent.click(screen.getByRole("button", { name: "New token" }));
  await userEvent.type(screen.getByLabelText("Name"), "ci");
  await userEvent.click(screen.getByRole("button", { name: "Create" }));
  await userEvent.keyboard("{Escape}");
  await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
  answer();
  await screen.findByText("tarsy_secret");
  await userEvent.keyboard("{Escape}");
  await userEvent.click(screen.getByRole("dialog").parentElement as HTMLElement);
  screen.getByText("tarsy_secret");
  await userEvent.click(screen.getByRole("button", { name: "Done" }));
  await waitFor(() => expect(screen.queryByText("tarsy_secret")).toBeNull());
});
