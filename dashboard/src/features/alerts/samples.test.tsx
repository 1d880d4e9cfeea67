import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { samples } from "@/api/alerts";
import type { Sample } from "@/wire/types";
import { Samples } from "./samples";

function show(recorded: boolean, onRun = vi.fn()) {
  const client = new QueryClient();
  const sample: Sample = { name: "crashloop", title: "A pod crash-loops", description: "", alert_type: "t", alert_data: "x", questions: [], recorded };
  client.setQueryData(samples.queryKey, { samples: [sample] });
  render(
    <QueryClientProvider client={client}>
      <Samples onRun={onRun} onEdit={vi.fn()} busy={null} />
    </QueryClientProvider>,
  );
  return { sample, onRun };
}

test("samples without a key say that the model is recorded", () => {
  show(true);
  expect(screen.getByRole("link", { name: "Recorded model" }).getAttribute("href")).toBe("/help/recordings.md");
});

test("samples on a real model do not", async () => {
  const { sample, onRun } = show(false);
  expect(screen.queryByText("Recorded model")).toBeNull();
  expect(screen.getByText(/investigated by your own model/)).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Investigate: A pod crash-loops" }));
  expect(onRun).toHaveBeenCalledWith(sample);
});
