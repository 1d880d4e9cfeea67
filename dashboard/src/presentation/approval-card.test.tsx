import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { me } from "@/api/system";
import type { Approval } from "@/wire/types";
import { ApprovalCard, useSessionApprovals } from "./approval-card";

const PENDING: Approval = {
  id: "p1",
  session_id: "s1",
  execution_id: "x1",
  call_id: "c1",
  evidence_id: "A1",
  server: "cluster",
  tool: "delete_pod",
  arguments: '{"name": "cart-1"}',
  call_hash: "h",
  state: "pending",
  requested_at: "2026-03-10T09:00:00Z",
  expires_at: "2026-03-10T09:30:00Z",
  decided_at: null,
  decided_by: null,
  reason: "",
  started_at: null,
  outcome: "not_run",
};

function show(approval: Approval, denied: Record<string, string> = {}) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(me.queryKey, { author: "ada", denied } as never);
  render(
    <QueryClientProvider client={client}>
      <ApprovalCard approval={approval} />
    </QueryClientProvider>,
  );
  return vi.spyOn(api, "POST").mockResolvedValue({ data: approval, response: new Response() });
}

test("a call is shown as it would be made, and rejected with a reason", async () => {
  const sent = show(PENDING);
  expect(screen.getByText("cluster.delete_pod")).toBeTruthy();
  expect(document.body.textContent).toContain("cart-1");
  await userEvent.type(screen.getByLabelText("Reason (optional)"), "Not now");
  await userEvent.click(screen.getByRole("button", { name: "Reject" }));
  expect(sent).toHaveBeenCalledWith("/api/v1/approvals/{approval_id}/reject", { params: { path: { approval_id: "p1" } }, body: { reason: "Not now" } });
});

test("a reason is kept while its row is scrolled out of view, until the decision is stored", async () => {
  show(PENDING);
  await userEvent.type(screen.getByLabelText("Reason (optional)"), "Not now");
  cleanup();
  show(PENDING);
  expect(screen.getByLabelText<HTMLInputElement>("Reason (optional)").value).toBe("Not now");
  await userEvent.click(screen.getByRole("button", { name: "Reject" }));
  await vi.waitFor(() => expect(screen.getByLabelText<HTMLInputElement>("Reason (optional)").value).toBe(""));
  cleanup();
  show(PENDING);
  expect(screen.getByLabelText<HTMLInputElement>("Reason (optional)").value).toBe("");
});

test("a responder sees the call and cannot decide about it", () => {
  show(PENDING, { approveCall: "approver", rejectCall: "approver" });
  for (const name of ["Approve", "Reject"]) expect(screen.getByRole<HTMLButtonElement>("button", { name }).disabled).toBe(true);
});

test("a call whose outcome is unknown says so, and has no buttons", () => {
  show({ ...PENDING, state: "approved", outcome: "unknown", decided_by: "bob", decided_at: "2026-03-10T09:10:00Z" });
  expect(screen.getByText("Outcome unknown")).toBeTruthy();
  expect(screen.queryByRole("button", { name: "Approve" })).toBeNull();
});

function SessionApprovals() {
  return [...useSessionApprovals("s1").values()].map((approval) => <ApprovalCard key={approval.id} approval={approval} />);
}

test("an approved call is followed until it has run", async () => {
  vi.useFakeTimers();
  const outcomes = ["not_run", "running", "ran"] as const;
  const asked = vi.spyOn(api, "GET").mockImplementation((() => Promise.resolve({ data: { approvals: [{ ...PENDING, state: "approved", outcome: outcomes[asked.mock.calls.length - 1] ?? "ran" }] }, response: new Response() })) as never);
  render(
    <QueryClientProvider client={new QueryClient()}>
      <SessionApprovals />
    </QueryClientProvider>,
  );
  const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
  await pass(0);
  expect(document.body.textContent).toContain("It has not run.");
  await pass(2_500);
  expect(document.body.textContent).toContain("It is running.");
  await pass(60_000);
  expect(document.body.textContent).toContain("It ran.");
  expect(asked).toHaveBeenCalledTimes(3);
  vi.useRealTimers();
});
