// @vitest-environment jsdom
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import { version } from "@/api/system";
import { VersionBanner } from "./version-banner";

afterEach(cleanup);

test("a page from before an update says so", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(version.queryKey, { version: "1.0.0" });
  render(
    <QueryClientProvider client={client}>
      <VersionBanner />
    </QueryClientProvider>,
  );
  expect(screen.queryByRole("status")).toBeNull();
  act(() => void client.setQueryData(version.queryKey, { version: "1.1.0" }));
  expect((await screen.findByRole("status")).textContent).toContain("updated from 1.0.0 to 1.1.0");
  expect(screen.getByRole("button", { name: "Reload" })).toBeTruthy();
});
