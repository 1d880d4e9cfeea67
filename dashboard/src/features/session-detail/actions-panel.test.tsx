import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { Action } from "@/wire/types";
import { ActionsPanel } from "./actions-panel";

const RESTART: Action = { evidence_id: "B1", call: 'cluster.restart {"name": "cart"}', approved_by: "ada", outcome: "succeeded", verified: "yes" };

test("an action is shown with its call, who approved it, its outcome and whether it helped", () => {
  render(<ActionsPanel actions={[RESTART]} actions_left_out={[]} />);
  for (const text of [RESTART.call, /Approved by ada/, "Succeeded", /The symptom is gone/]) expect(screen.getByText(text)).toBeTruthy();
});

test("a call that did not run says nothing about the symptom, and a stage that was not begun says why", () => {
  render(<ActionsPanel actions={[{ ...RESTART, approved_by: null, outcome: "not_run", verified: "unknown" }]} actions_left_out={['Stage "act" was not begun: the verdict is no fault.']} />);
  expect(screen.queryByText(/Not verified/)).toBeNull();
  expect(screen.getByText(/the verdict is no fault/)).toBeTruthy();
});

test("a session without actions has no panel", () => {
  const { container } = render(<ActionsPanel actions={[]} actions_left_out={[]} />);
  expect(container.textContent).toBe("");
});
