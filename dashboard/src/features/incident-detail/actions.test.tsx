import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { openIncidents } from "@/api/incidents";
import { me } from "@/api/system";
import type { IncidentView } from "@/wire/types";
import { Actions } from "./actions";

test("an incident that is resolved after its dialog was closed is shown so, and no other dialog is closed", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(me.queryKey, { author: "ada", denied: {} } as never);
  let accept: () => void = () => undefined;
  vi.spyOn(api, "POST").mockReturnValue(new Promise((resolve) => (accept = () => resolve({ response: new Response() }))));
  const onChanged = vi.fn();
  render(
    <QueryClientProvider client={client}>
      <Actions incident={{ id: "i", state: "open", sessions: [] } as unknown as IncidentView} onChanged={onChanged} />
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Resolve" }));
  await userEvent.click(await screen.findByRole("button", { name: "Resolve" }));
  await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
  await userEvent.click(await screen.findByRole("button", { name: "Mute" }));
  await userEvent.type(await screen.findByLabelText("Reason"), "Maintenance");
  accept();
  await vi.waitFor(() => expect(onChanged).toHaveBeenCalledOnce());
  await vi.waitFor(() => expect(client.isMutating()).toBe(0));
  expect(screen.getByLabelText<HTMLInputElement>("Reason").value).toBe("Maintenance");
});

test("the question about an incident to merge does not show why another one could not be merged", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(me.queryKey, { author: "ada", denied: {} } as never);
  client.setQueryData(openIncidents("").queryKey, { incidents: ["disk", "cpu"].map((id) => ({ id, title: id, source: "grafana", alerts: 1 })) } as never);
  vi.spyOn(api, "POST").mockResolvedValue({ response: new Response(null, { status: 503 }) });
  render(
    <QueryClientProvider client={client}>
      <Actions incident={{ id: "i", state: "open", sessions: [] } as unknown as IncidentView} onChanged={() => undefined} />
    </QueryClientProvider>,
  );
  await userEvent.click(screen.getByRole("button", { name: "Merge" }));
  await userEvent.click(await screen.findByRole("button", { name: /^disk/ }));
  await userEvent.click(await screen.findByRole("button", { name: "Merge" }));
  await screen.findByText("They could not be merged.");
  await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
  await userEvent.click(await screen.findByRole("button", { name: /^cpu/ }));
  await screen.findByText("Merge “cpu” into this incident?");
  expect(screen.queryByText("They could not be merged.")).toBeNull();
});
