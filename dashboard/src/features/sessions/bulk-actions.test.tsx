import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { me } from "@/api/system";
import type { SessionListItem } from "@/wire/types";
import { SelectedActions } from "./bulk-actions";

test("the dialog of one action does not show why the other one failed", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(me.queryKey, { author: "ada", denied: {} } as never);
  vi.spyOn(api, "POST").mockResolvedValue({ response: new Response(null, { status: 503 }) });
  render(
    <QueryClientProvider client={client}>
      <SelectedActions selected={[{ id: "r", status: "in_progress" }, { id: "e", status: "completed" }] as SessionListItem[]} onClear={() => undefined} />
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Cancel 1" }));
  await userEvent.click(screen.getByRole("button", { name: "Cancel them" }));
  await screen.findByText("They could not all be cancelled.");
  await userEvent.click(screen.getByRole("button", { name: "Keep them" }));
  await userEvent.click(await screen.findByRole("button", { name: "Delete 1" }));
  await screen.findByText("Delete 1 session?");
  expect(screen.queryByRole("alert")).toBeNull();
});

test("a question is about what was selected when it was asked, and its late answer clears no later selection", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(me.queryKey, { author: "ada", denied: {} } as never);
  let accept: () => void = () => undefined;
  const sent = vi.spyOn(api, "POST").mockReturnValue(new Promise((resolve) => (accept = () => resolve({ response: new Response() }))));
  const onClear = vi.fn();
  const shown = (...ids: string[]) => (
    <QueryClientProvider client={client}>
      <SelectedActions selected={ids.map((id) => ({ id, status: "completed" })) as SessionListItem[]} onClear={onClear} />
    </QueryClientProvider>
  );
  const { rerender } = render(shown("a"));
  await userEvent.click(screen.getByRole("button", { name: "Delete 1" }));
  rerender(shown());
  await userEvent.click(screen.getByRole("button", { name: "Delete them" }));
  expect(sent).toHaveBeenCalledExactlyOnceWith("/api/v1/deletions", { params: { query: { id: ["a"] } } });
  await userEvent.click(screen.getByRole("button", { name: "Keep them" }));
  rerender(shown("b"));
  accept();
  await vi.waitFor(() => expect(client.isMutating()).toBe(0));
  expect(onClear).not.toHaveBeenCalled();
});
