import { render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type * as Links from "@/components/links";
import type { LiveMessage } from "@/wire/live-messages";
import type { Note } from "@/wire/types";
import { changesIncident, Notes } from "./incident-page";

vi.mock("@/components/links", async (load) => ({ ...(await load<typeof Links>()), TextLink: ({ params, children }: { params: { sessionId: string }; children: string }) => <a href={`/sessions/${params.sessionId}`}>{children}</a> }));

const HINT: Note = { id: "NOTE1", session_id: "s1", kind: "hint", author: "ada", text: "Look at web-3", created_at: "2026-03-10T09:00:00Z", state: "delivered", told: ["One"] };

test("a note to an investigation leads to its session", () => {
  render(<Notes notes={[HINT]} />);
  expect(screen.getByRole("listitem").textContent).toContain("Look at web-3");
  expect(screen.getByRole("link").getAttribute("href")).toBe("/sessions/s1");
});

test("an incident whose investigations got no notes has no such part", () => {
  const { container } = render(<Notes notes={[]} />);
  expect(container.textContent).toBe("");
});

test("an incident is fetched again for its own changes and for those of its sessions", () => {
  const status = (session_id: string): LiveMessage => ({ type: "session.status", channel: "sessions", id: 1, session_id, status: "in_progress", alert_type: "t", at: "" });
  const changed = (incident_id: string): LiveMessage => ({ type: "incident.changed", channel: "incidents", id: 1, incident_id });
  expect([changed("i"), changed("other"), status("s"), status("other")].map((message) => changesIncident(message, "i", [{ id: "s" }]))).toEqual([true, false, true, false]);
  // The first response may be older than the message.
  expect(changesIncident(status("s"), "i", undefined)).toBe(true);
});
