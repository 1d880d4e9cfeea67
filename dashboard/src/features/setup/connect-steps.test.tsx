import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactElement } from "react";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import type { SetupState } from "@/wire/types";
import { ModelStep, ToolsStep } from "./connect-steps";

const STATE = {
  model: null,
  vendors: ["google", "openai"].map((name) => ({ name, variable: "KEY", model: "m", has_key: false })),
  recipes: [{ name: "grafana", title: "Grafana", description: "", fields: [{ variable: "URL", label: "Address", kind: "text", suggestion: "http://a", is_set: false }] }],
} as unknown as SetupState;
const WORKS = { data: { ok: true, message: "", cure: "", tools: [], written: [] }, response: new Response() };

function show(step: ReactElement) {
  render(<QueryClientProvider client={new QueryClient()}>{step}</QueryClientProvider>);
}
const works = () => screen.queryByText("It works, and is in use from now on.") !== null;

test("that a key works is taken back when another one is typed, or another vendor is chosen", async () => {
  vi.spyOn(api, "POST").mockResolvedValue(WORKS);
  show(<ModelStep state={STATE} />);
  const save = async () => {
    await userEvent.type(screen.getByLabelText("API key"), "k");
    await userEvent.click(screen.getByRole("button", { name: "Test and save" }));
    await vi.waitFor(() => expect(works()).toBe(true));
  };
  await save();
  await userEvent.type(screen.getByLabelText("API key"), "x");
  expect(works()).toBe(false);
  await save();
  await userEvent.click(screen.getByRole("combobox", { name: "Vendor" }));
  await userEvent.click(await screen.findByRole("option", { name: "OpenAI" }));
  expect(works()).toBe(false);
});

test("a key that is typed while another one is tested stays", async () => {
  let answer: () => void = () => undefined;
  vi.spyOn(api, "POST").mockReturnValue(new Promise((resolve) => (answer = () => resolve(WORKS))));
  show(<ModelStep state={STATE} />);
  await userEvent.type(screen.getByLabelText("API key"), "k");
  await userEvent.click(screen.getByRole("button", { name: "Test and save" }));
  await userEvent.type(screen.getByLabelText("API key"), "ey");
  answer();
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(screen.getByLabelText<HTMLInputElement>("API key").value).toBe("key");
});

test("that a model of one's own works is taken back when its key or the model is changed", async () => {
  vi.spyOn(api, "POST").mockImplementation(((path: string) => Promise.resolve(path.endsWith("/models") ? { data: { base_url: "http://a/v1", models: ["llama", "qwen"] }, response: new Response() } : WORKS)) as never);
  show(<ModelStep state={STATE} />);
  await userEvent.click(screen.getByRole("button", { name: "A model of your own" }));
  await userEvent.click(screen.getByRole("button", { name: "Find models" }));
  const save = async () => {
    await userEvent.click(await screen.findByRole("button", { name: "Test and save" }));
    await vi.waitFor(() => expect(works()).toBe(true));
  };
  await save();
  await userEvent.click(screen.getByRole("combobox", { name: "Model" }));
  await userEvent.click(await screen.findByRole("option", { name: "qwen" }));
  expect(works()).toBe(false);
  await save();
  await userEvent.type(screen.getByLabelText("API key"), "k");
  expect(works()).toBe(false);
});

test("that a tool server works is taken back when one of its fields is changed", async () => {
  vi.spyOn(api, "POST").mockResolvedValue(WORKS);
  show(<ToolsStep state={STATE} />);
  await userEvent.click(screen.getByRole("button", { name: "Test and connect: Grafana" }));
  await vi.waitFor(() => expect(works()).toBe(true));
  await userEvent.type(screen.getByLabelText("Address"), "b");
  expect(works()).toBe(false);
});
