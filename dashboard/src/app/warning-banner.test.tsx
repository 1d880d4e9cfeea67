// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { warnings } from "@/api/system";
import type { SystemWarningItem } from "@/wire/types";
import { WarningBanner } from "./warning-banner";

afterEach(cleanup);

async function show(...found: SystemWarningItem[]) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(warnings.queryKey, { warnings: found });
  const router = createRouter({ routeTree: createRootRoute({ component: () => <main>page<WarningBanner /></main> }), history: createMemoryHistory() });
  render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  );
  await screen.findByText("page");
}

test("what keeps alerts from being investigated is told on every page", async () => {
  await show({ source: "workers", message: "No process has workers.", since: null }, { source: "queue", message: "The queue grows.", since: null });
  expect(screen.getByRole("status").textContent).toBe("No process has workers. And 1 more. System");
});

test("other warnings stay on the System page", async () => {
  await show({ source: "mcp", message: "Tool server 'x' is away.", since: null });
  expect(screen.queryByRole("status")).toBeNull();
});
