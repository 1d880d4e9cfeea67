import { render, screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type * as Links from "@/components/links";
import type { IncidentItem } from "@/wire/types";
import { IncidentRow } from "./incident-row";

vi.mock("@/components/links", async (load) => ({ ...(await load<typeof Links>()), BareLink: ({ params, children }: { params: { incidentId: string }; children: React.ReactNode }) => <a href={`/incidents/${params.incidentId}`}>{children}</a> }));

const INCIDENT: IncidentItem = {
  id: "i1", state: "open", title: "Disk full", severity: "critical", source: "alertmanager", route: "disks", alert_type: "disk",
  opened_at: "2026-03-10T09:00:00Z", heard_at: "2026-03-10T09:01:00Z", resolved_at: null, firing: 1, alerts: 2, deliveries: 3, truncated: 0, analysis_is_partial: false,
  last_session_id: null, last_session_status: null, last_session_completed_at: null, executive_summary: null,
  verdict_outcome: null, verdict_confidence: null, verdict_object: null, waiting_for_model: false, cost: { usd: 1.25, unpriced_calls: 0, estimated_calls: 0 },
};

test("an incident shows what its investigations cost, and that a price is missing", () => {
  const { rerender } = render(<IncidentRow columns={["verdict", "cost"]} words={[]} selected={false} onSelect={() => undefined} incident={INCIDENT} />);
  expect(screen.getByTitle("What its investigations cost").textContent).toBe("$1.25");
  rerender(<IncidentRow columns={["verdict", "cost"]} words={[]} selected={false} onSelect={() => undefined} incident={{ ...INCIDENT, cost: { usd: null, unpriced_calls: 2, estimated_calls: 0 } }} />);
  expect(screen.getByTitle("What its investigations cost").textContent).toBe("2 calls of unknown price");
});

test("an incident without investigations has no cost", () => {
  render(<IncidentRow columns={["verdict", "cost"]} words={[]} selected={false} onSelect={() => undefined} incident={{ ...INCIDENT, cost: { usd: null, unpriced_calls: 0, estimated_calls: 0 } }} />);
  expect(screen.queryByTitle("What its investigations cost")).toBeNull();
});

test("an incident shows that the analysis of its last investigation is partial", () => {
  render(<IncidentRow columns={["verdict", "cost"]} words={[]} selected={false} onSelect={() => undefined} incident={{ ...INCIDENT, last_session_status: "completed", analysis_is_partial: true, executive_summary: "The disk is full." }} />);
  expect(screen.getByText("partial")).toBeDefined();
  expect(screen.getByText("The disk is full.")).toBeDefined();
});
