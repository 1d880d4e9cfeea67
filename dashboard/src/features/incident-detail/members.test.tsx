import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { me } from "@/api/system";
import type { AlertItem, IncidentView } from "@/wire/types";
import { Members } from "./members";

const member = (id: string) => ({ id, title: id, status: "firing", severity: "critical", count: 1, first_at: "2026-03-10T09:00:00Z", heard_at: "2026-03-10T09:00:00Z", labels: {}, links: {} }) as AlertItem;

test("an alert that has been moved to another incident is no longer chosen", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(me.queryKey, { author: "ada", denied: {} } as never);
  const shown = (...ids: string[]) => (
    <QueryClientProvider client={client}>
      <Members incident={{ id: "i", firing: 3, alerts: 3, members: ids.map(member) } as unknown as IncidentView} onSplit={vi.fn()} />
    </QueryClientProvider>
  );
  const { rerender } = render(shown("disk", "cpu", "dns"));
  await userEvent.click(screen.getByRole("checkbox", { name: "Choose disk" }));
  await userEvent.click(screen.getByRole("checkbox", { name: "Choose cpu" }));
  screen.getByRole("button", { name: "Split off 2 alerts" });
  rerender(shown("cpu", "dns"));
  expect(screen.getByRole("button", { name: "Split off 1 alert" })).toBeTruthy();
});

test("the incident that was split off is opened, unless the dialog was closed meanwhile", async () => {
  for (const closes of [false, true]) {
    const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
    client.setQueryData(me.queryKey, { author: "ada", denied: {} } as never);
    let accept: () => void = () => undefined;
    vi.spyOn(api, "POST").mockReturnValue(new Promise((resolve) => (accept = () => resolve({ data: { incident_id: "new" }, response: new Response() }))));
    const onSplit = vi.fn();
    render(
      <QueryClientProvider client={client}>
        <Members incident={{ id: "i", firing: 2, alerts: 2, members: ["disk", "cpu"].map(member) } as unknown as IncidentView} onSplit={onSplit} />
      </QueryClientProvider>,
    );
    await userEvent.click(screen.getByRole("checkbox", { name: "Choose disk" }));
    await userEvent.click(screen.getByRole("button", { name: "Split off 1 alert" }));
    await userEvent.click(await screen.findByRole("button", { name: "Split off" }));
    if (closes) await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
    await vi.waitFor(() => expect(screen.queryByRole("dialog") === null).toBe(closes));
    accept();
    await vi.waitFor(() => expect(client.isMutating()).toBe(0));
    expect(onSplit.mock.calls).toEqual(closes ? [] : [["new"]]);
    cleanup();
  }
});
