import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { SessionDetail } from "@/wire/types";
import { AlertPanel } from "./alert-panel";

const show = (more: Partial<SessionDetail>) => render(<AlertPanel session={{ alert_data: "", runbook_url: null, mcp_selection: null, ...more } as SessionDetail} />);

test("an alert in JSON is laid out, and raw on demand", async () => {
  const { container } = show({ alert_data: '{"labels":{"pod":"cart"}}' });
  const text = () => container.querySelector("pre")?.textContent;
  expect(text()).toContain('  "labels"');
  await userEvent.click(screen.getByRole("button", { name: "Show raw" }));
  expect(text()).toBe('{"labels":{"pod":"cart"}}');
});

test("plain text is what it is", () => {
  const { container } = show({ alert_data: "The disk is full" });
  expect(container.querySelector("pre")?.textContent).toBe("The disk is full");
  expect(screen.queryByRole("button", { name: "Show raw" })).toBeNull();
});

test("a runbook is a link that tells its host nothing", () => {
  show({ alert_data: "x", runbook_url: "https://wiki.example/disk" });
  const link = screen.getByRole("link", { name: "https://wiki.example/disk" });
  expect(link.getAttribute("rel")).toContain("noreferrer");
});
