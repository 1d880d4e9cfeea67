import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { alertTypes } from "@/api/alerts";
import { Filters } from "./filters";
import type { SessionSearch } from "./search";

test("typing goes on while the address follows", async () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(alertTypes.queryKey, { alert_types: [], default_alert_type: "t" });
  const onChange = vi.fn<(search: SessionSearch) => void>();
  const page = (search: SessionSearch) => (
    <QueryClientProvider client={client}>
      <Filters search={search} onChange={onChange} searchBox={{ current: null }} />
    </QueryClientProvider>
  );
  const { rerender } = render(page({}));
  const box = screen.getByLabelText<HTMLInputElement>("Search alerts and analyses");
  await userEvent.type(box, "pod ");
  await vi.waitFor(() => expect(onChange).toHaveBeenCalledWith({ text: "pod" }), 30_000);
  await userEvent.type(box, "l");
  act(() => rerender(page({ text: "pod" })));
  expect(box.value).toBe("pod l");
  // Something else changed the address: a link, the way back, "Clear".
  act(() => rerender(page({})));
  expect(box.value).toBe("");
});
