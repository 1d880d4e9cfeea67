import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { models } from "@/api/sessions";
import type { SessionDetail } from "@/wire/types";
import { ForkDialog } from "./fork-dialog";

const SESSION = { id: "s", recorded: false, stages: [{ executions: [{ id: "x", agent_name: "PodAgent", parent_execution_id: null }] }] } as unknown as SessionDetail;

function Page() {
  const [open, setOpen] = useState(true);
  return open ? <ForkDialog session={SESSION} point={{ executionId: "x", turn: 1 }} onClose={() => setOpen(false)} /> : <main>The session</main>;
}

async function fork() {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(models.queryKey, { models: [] });
  let accept: () => void = () => undefined;
  const answer = new Promise<never>((resolve) => (accept = () => resolve({ data: { session_id: "forked" }, response: new Response() } as never)));
  vi.spyOn(api, "POST").mockReturnValue(answer);
  const router = createRouter({ routeTree: createRootRoute({ component: Page }), history: createMemoryHistory() });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
  await userEvent.click(await screen.findByRole("button", { name: "Fork" }));
  return { router, client, accept };
}

test("a fork opens its session", async () => {
  const { router, accept } = await fork();
  accept();
  await vi.waitFor(() => expect(router.state.location.pathname).toBe("/sessions/forked"));
});

test("a fork whose dialog was closed meanwhile leaves the reader on the page", async () => {
  const { router, client, accept } = await fork();
  await userEvent.click(screen.getByRole("button", { name: "Cancel" }));
  await screen.findByText("The session");
  accept();
  await vi.waitFor(() => expect(client.isMutating()).toBe(0));
  expect(router.state.location.pathname).toBe("/");
});
