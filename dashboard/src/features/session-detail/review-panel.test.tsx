import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { reviewKey } from "@/api/reviews";
import { me } from "@/api/system";
import type { Review } from "@/wire/types";
import { ReviewPanel } from "./review-panel";

const TRIAGE = { acknowledged_by: null, acknowledged_at: null, assignee: null, comments: [] };
const REVIEW: Review = { useful: true, accuracy: null, actual_cause: "", action_taken: "", reviewer: "ada", reviewed_at: "2026-03-10T09:00:00Z" };

function show(review: Review | null, denied: Record<string, string> = {}) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(reviewKey("s1"), { review, triage: TRIAGE });
  client.setQueryData(me.queryKey, { author: "ada", denied } as never);
  vi.spyOn(api, "GET").mockResolvedValue({ data: { review, triage: TRIAGE } as never, response: new Response() });
  render(
    <QueryClientProvider client={client}>
      <ReviewPanel sessionId="s1" />
    </QueryClientProvider>,
  );
  return vi.spyOn(api, "POST").mockResolvedValue({ data: REVIEW, response: new Response() });
}

const PATH = { params: { path: { session_id: "s1" } } };

test("one click is a review, and only then it is asked for more", async () => {
  const sent = show(null);
  expect(screen.queryByLabelText("Actual cause")).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Not useful" }));
  expect(sent).toHaveBeenCalledWith("/api/v1/sessions/{session_id}/review", { ...PATH, body: { useful: false } });
});

test("a review is completed, and a click on the accuracy loses no typed text", async () => {
  const sent = show(REVIEW);
  expect(screen.queryByRole("button", { name: "Save" })).toBeNull();
  await userEvent.type(screen.getByLabelText("Actual cause"), "A full disk");
  expect(screen.getByRole("button", { name: "Save" })).toBeTruthy();
  await userEvent.click(screen.getByRole("button", { name: "Wrong" }));
  expect(sent).toHaveBeenCalledWith("/api/v1/sessions/{session_id}/review", { ...PATH, body: { useful: true, accuracy: "wrong", actual_cause: "A full disk" } });
});

test("a text that another person has written is not replaced by a click", async () => {
  const sent = show({ ...REVIEW, action_taken: "Restarted" });
  await userEvent.click(screen.getByRole("button", { name: "Wrong" }));
  expect(sent).toHaveBeenCalledWith("/api/v1/sessions/{session_id}/review", { ...PATH, body: { useful: true, accuracy: "wrong" } });
});

test("what is typed while a review is being saved is kept, also over a reload", async () => {
  const sent = show(REVIEW);
  let accept: () => void = () => undefined;
  sent.mockReturnValue(new Promise((resolve) => (accept = () => resolve({ data: REVIEW, response: new Response() }))));
  await userEvent.type(screen.getByLabelText("Actual cause"), "A full disk");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await userEvent.type(screen.getByLabelText("What was done"), "Emptied it");
  vi.spyOn(api, "GET").mockResolvedValue({ data: { review: { ...REVIEW, actual_cause: "A full disk" }, triage: TRIAGE } as never, response: new Response() });
  accept();
  await vi.waitFor(() => expect(screen.getByRole<HTMLButtonElement>("button", { name: "Wrong" }).disabled).toBe(false));
  expect(screen.getByLabelText<HTMLTextAreaElement>("What was done").value).toBe("Emptied it");
  cleanup();
  show({ ...REVIEW, actual_cause: "A full disk and a slow one" });
  expect(screen.getByLabelText<HTMLTextAreaElement>("Actual cause").value).toBe("A full disk and a slow one");
  expect(screen.getByLabelText<HTMLTextAreaElement>("What was done").value).toBe("Emptied it");
});

test("a name that is being typed stays when another person assigns the session", async () => {
  show(REVIEW);
  const changed = vi.spyOn(api, "PATCH").mockResolvedValue({ data: TRIAGE, response: new Response() });
  await userEvent.type(screen.getByLabelText("Assigned to"), "ali");
  vi.spyOn(api, "GET").mockResolvedValue({ data: { review: REVIEW, triage: { ...TRIAGE, assignee: "bob" } } as never, response: new Response() });
  await userEvent.click(screen.getByRole("button", { name: "Wrong" }));
  await vi.waitFor(() => expect(screen.getByRole<HTMLButtonElement>("button", { name: "Wrong" }).disabled).toBe(false));
  await userEvent.type(screen.getByLabelText("Assigned to"), "ce ");
  vi.spyOn(api, "GET").mockResolvedValue({ data: { review: REVIEW, triage: { ...TRIAGE, assignee: "alice" } } as never, response: new Response() });
  await userEvent.click(screen.getByRole("button", { name: "Assign" }));
  expect(changed).toHaveBeenCalledWith("/api/v1/sessions/{session_id}/triage", { ...PATH, body: { assignee: "alice" } });
  // Stored: a name that another person gives now is shown.
  vi.spyOn(api, "GET").mockResolvedValue({ data: { review: REVIEW, triage: { ...TRIAGE, assignee: "eve" } } as never, response: new Response() });
  await screen.findByRole("button", { name: "Assign to me" });
  await userEvent.click(screen.getByRole("button", { name: "Useful" }));
  await userEvent.click(screen.getByRole("button", { name: "Not useful" }));
  await vi.waitFor(() => expect(screen.getByLabelText<HTMLInputElement>("Assigned to").value).toBe("eve"));
});

test("neither a click on the usefulness nor a review that cannot be loaded once more loses typed text", async () => {
  show(REVIEW);
  vi.spyOn(api, "GET").mockResolvedValueOnce({ data: { review: { ...REVIEW, useful: false, reviewed_at: "2026-03-10T09:05:00Z" }, triage: TRIAGE } as never, response: new Response() });
  await userEvent.type(screen.getByLabelText("Actual cause"), "A full disk");
  await userEvent.click(screen.getByRole("button", { name: "Not useful" }));
  await screen.findByRole("button", { name: "Not useful", pressed: true });
  expect(screen.getByLabelText<HTMLTextAreaElement>("Actual cause").value).toBe("A full disk");
  vi.spyOn(api, "GET").mockResolvedValue({ response: new Response(null, { status: 503 }) } as never);
  await userEvent.click(screen.getByRole("button", { name: "Useful" }));
  await vi.waitFor(() => expect(screen.getByRole<HTMLButtonElement>("button", { name: "Useful" }).disabled).toBe(false));
  expect(screen.getByLabelText<HTMLTextAreaElement>("Actual cause").value).toBe("A full disk");
});

test("a session is acknowledged, taken over and commented", async () => {
  const sent = show(REVIEW);
  const changed = vi.spyOn(api, "PATCH").mockResolvedValue({ data: TRIAGE, response: new Response() });
  await userEvent.click(screen.getByRole("button", { name: "Acknowledge" }));
  await userEvent.click(screen.getByRole("button", { name: "Assign to me" }));
  await userEvent.type(screen.getByLabelText("Comment"), "Seen before{Enter}");
  expect(changed).toHaveBeenCalledWith("/api/v1/sessions/{session_id}/triage", { ...PATH, body: { acknowledged: true } });
  expect(changed).toHaveBeenCalledWith("/api/v1/sessions/{session_id}/triage", { ...PATH, body: { assignee: "ada" } });
  expect(sent).toHaveBeenCalledWith("/api/v1/sessions/{session_id}/comments", { ...PATH, body: { text: "Seen before" } });
});

test("a viewer reads the review and changes nothing", () => {
  show(REVIEW, { reviewSession: "responder", triageSession: "responder", commentSession: "responder" });
  for (const name of ["Useful", "Wrong", "Acknowledge", "Assign to me", "Add"]) expect(screen.getByRole<HTMLButtonElement>("button", { name }).disabled).toBe(true);
});
