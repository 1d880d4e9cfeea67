import { render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type * as Links from "@/components/links";
import type { Note } from "@/wire/types";
import { Notes } from "./incident-page";

vi.mock("@/components/links", async (load) => ({ ...(await load<typeof Links>()), TextLink: ({ params, children }: { params: { sessionId: string }; children: string }) => <a href={`/sessions/${params.sessionId}`}>{children}</a> }));

const HINT: Note = { id: "NOTE1", session_id: "s1", kind: "hint", author: "ada", text: "Look at web-3", created_at: "2026-03-10T09:00:00Z", state: "delivered", told: ["One"] };

test("what an investigation was told leads to its session", () => {
  render(<Notes notes={[HINT]} />);
  expect(screen.getByRole("listitem").textContent).toContain("Look at web-3");
  expect(screen.getByRole("link").getAttribute("href")).toBe("/sessions/s1");
});

test("an incident whose investigations were told nothing has no such part", () => {
  const { container } = render(<Notes notes={[]} />);
  expect(container.textContent).toBe("");
});
