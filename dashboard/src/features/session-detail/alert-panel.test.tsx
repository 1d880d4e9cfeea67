import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { SessionDetail } from "@/wire/types";
import { AlertPanel } from "./alert-panel";

const show = (more: Partial<SessionDetail>) => render(<AlertPanel session={{ alert_data: "", incident_id: null, runbook_url: null, mcp_selection: null, ...more } as SessionDetail} />);

test("an alert in JSON is a table of its fields, and JSON on demand", async () => {
  const { container } = show({ alert_data: '{"title":"Down","tags":["a","b"],"labels":{"pod":"cart"},"alerts":[{"url":"https://grafana.example/d/1"}]}' });
  expect(screen.getAllByRole("row").map((row) => row.textContent)).toEqual(["labels", "podcart", "titleDown", "tagsa, b", "alerts.0", "urlhttps://grafana.example/d/1"]);
  expect(screen.getByRole("link").getAttribute("rel")).toContain("noreferrer");
  await userEvent.click(screen.getByRole("button", { name: "Show JSON" }));
  expect(container.querySelector("pre")?.textContent).toContain('  "labels"');
});

test("the alerts of an incident are tables of their labels", () => {
  show({ incident_id: "i1", alert_data: "# Disk\n\n## Disk on node-3\n\nLabels:\n- node = node-3\n\n## Disk on node-1\n\nLabels:\n- node = node-1\n- query = a = b" });
  expect(screen.getAllByRole("row").map((row) => row.textContent)).toEqual(["Disk on node-3", "nodenode-3", "Disk on node-1", "nodenode-1", "querya = b"]);
  expect(screen.getByRole("button", { name: "Show text" })).toBeTruthy();
});

test("plain text is what it is", () => {
  const { container } = show({ alert_data: "The disk is full" });
  expect(container.querySelector("pre")?.textContent).toBe("The disk is full");
  expect(screen.queryByRole("button", { name: "Show JSON" })).toBeNull();
});

test("a runbook is a link that sends its host no referrer", () => {
  show({ alert_data: "x", runbook_url: "https://wiki.example/disk" });
  const link = screen.getByRole("link", { name: "https://wiki.example/disk" });
  expect(link.getAttribute("rel")).toContain("noreferrer");
});
