import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import type * as Router from "@tanstack/react-router";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { act, cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { alertTypes, defaultTools, samples } from "@/api/alerts";
import { api } from "@/api/client";
import { sessionDetail } from "@/api/sessions";
import { mcpServers } from "@/api/system";
import type { SessionDetail } from "@/wire/types";
import { NewAlertPage } from "./new-alert-page";

const search: { from?: string | undefined } = {};
const navigate = vi.fn();
vi.mock("@tanstack/react-router", async (load) => ({ ...(await load<typeof Router>()), getRouteApi: () => ({ useSearch: () => search, useNavigate: () => navigate }) }));

async function show(from?: string, has_model = true) {
  search.from = from;
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  const known = { name: "pods", chain_id: "pods", description: "", is_sample: false, has_model };
  client.setQueryData(alertTypes.queryKey, { alert_types: [known], default_alert_type: "pods" });
  client.setQueryData(samples.queryKey, { samples: [{ name: "dns", title: "DNS", description: "", alert_type: "dns", alert_data: "No names", recorded: true, questions: [] }] });
  client.setQueryData(defaultTools.queryKey, { defaults: [] });
  client.setQueryData(mcpServers.queryKey, { servers: [] });
  client.setQueryData(sessionDetail("s").queryKey, { alert_data: "The disk is full", alert_type: "pods", runbook_url: null, mcp_selection: null } as SessionDetail);
  const router = createRouter({ routeTree: createRootRoute({ component: NewAlertPage }), history: createMemoryHistory() });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
  await screen.findByLabelText("Alert text");
  return client;
}
const written = () => screen.getByLabelText<HTMLTextAreaElement>("Alert text").value;
const type = () => screen.getByRole<HTMLInputElement>("combobox", { name: "Alert type" });

test("what was written stays when the old session cannot be loaded once more", async () => {
  const client = await show("s");
  await userEvent.type(screen.getByLabelText("Alert text"), " again");
  const query = client.getQueryCache().find({ queryKey: sessionDetail("s").queryKey });
  act(() => query?.setState({ status: "error", error: new Error("The server cannot be reached.") }));
  expect(written()).toBe("The disk is full again");
});

test("the alert type can be emptied and written anew", async () => {
  await show();
  expect(type().value).toBe("pods");
  await userEvent.type(type(), "{Backspace>4/}");
  expect(type().value).toBe("");
  await userEvent.type(type(), "d");
  expect(type().value).toBe("d");
});

test("what was written is there again after a reload, but not when the next alert is of another session", async () => {
  await show();
  await userEvent.type(screen.getByLabelText("Alert text"), "half of it");
  cleanup();
  await show();
  expect(written()).toBe("half of it");
  cleanup();
  await show("s");
  expect(written()).toBe("The disk is full");
});

test("a sample that is run does not take what was written with it", async () => {
  await show();
  await userEvent.type(screen.getByLabelText("Alert text"), "half of it");
  const sent = vi.spyOn(api, "POST").mockResolvedValue({ data: { session_id: "s" }, response: new Response() });
  await userEvent.click(screen.getByRole("button", { name: "Investigate: DNS" }));
  await vi.waitFor(() => expect(sent).toHaveBeenCalled());
  cleanup();
  await show();
  expect(written()).toBe("half of it");
  await userEvent.click(screen.getByRole("button", { name: "Submit alert" }));
  await vi.waitFor(() => expect(sessionStorage.getItem("draft:alert:new")).toBeNull());
});

test("an accepted alert opens its session, unless the person has left the page meanwhile", async () => {
  for (const leaves of [false, true]) {
    navigate.mockClear();
    const client = await show();
    await userEvent.type(screen.getByLabelText("Alert text"), "The disk is full");
    let accept: () => void = () => undefined;
    vi.spyOn(api, "POST").mockReturnValue(new Promise((resolve) => (accept = () => resolve({ data: { session_id: "s" }, response: new Response() }))));
    await userEvent.click(screen.getByRole("button", { name: "Submit alert" }));
    if (leaves) cleanup();
    accept();
    await vi.waitFor(() => expect(client.isMutating()).toBe(0));
    expect(navigate).toHaveBeenCalledTimes(leaves ? 0 : 1);
    expect(sessionStorage.getItem("draft:alert:new")).toBeNull();
    cleanup();
  }
});

test("a sample replaces nothing that was written without asking", async () => {
  await show();
  const edit = () => userEvent.click(screen.getByRole("button", { name: "Edit first: DNS" }));
  await edit();
  expect(written()).toBe("No names");
  // The text of a sample is there again with a click.
  await edit();
  expect(screen.queryByRole("dialog")).toBeNull();
  await userEvent.type(screen.getByLabelText("Alert text"), ", and mine");
  await edit();
  await userEvent.click(await screen.findByRole("button", { name: "Keep it" }));
  expect(written()).toBe("No names, and mine");
  await edit();
  await userEvent.click(await screen.findByRole("button", { name: "Replace it" }));
  expect(written()).toBe("No names");
});

test("a missing model is reported before anything is written, in one line that leads on", async () => {
  await show(undefined, false);
  expect(screen.getByText(/No model is configured/).textContent).toBe("No model is configured, so alerts of this type are refused. Set up a model");
  expect(screen.getByRole("link", { name: "Set up a model" }).getAttribute("href")).toBe("/setup?step=model");
  cleanup();
  await show();
  expect(screen.queryByText(/No model/)).toBeNull();
});
