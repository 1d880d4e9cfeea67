import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { CitationList } from "@/wire/types";
import { CitationSupport } from "./citation-support";

const remark = (severity: CitationList["remarks"][number]["severity"], statement: string, complaint: string) => ({ execution_id: "x", statement, complaint, severity });
const SUMS = { cited: 3, verified: 1, id_only: 1, failed: 1, uncited: 0 };

test("failures come before remarks, each under its own name", async () => {
  const remarks = [remark("remark", "All routes work.", "says all without citing what covers it"), remark("failure", "db-9 is full.", "db-9 occurs in nothing that was seen")];
  render(<CitationSupport sums={SUMS} checked={{ citations: [], remarks }} />);
  await userEvent.click(screen.getByRole("button", { name: "1 quotation verified, 1 failed, 1 by id only." }));
  expect(screen.getAllByRole("listitem").map((one) => one.textContent)).toEqual(["db-9 is full. db-9 occurs in nothing that was seen", "All routes work. says all without citing what covers it"]);
  expect(within(screen.getByRole("list", { name: "Statements that failed the check" })).getAllByRole("listitem")).toHaveLength(1);
  expect(within(screen.getByRole("list", { name: "Remarks" })).getAllByRole("listitem")).toHaveLength(1);
});

test("nothing is listed under a name without statements", async () => {
  render(<CitationSupport sums={SUMS} checked={{ citations: [], remarks: [remark("remark", "All routes work.", "says all")] }} />);
  await userEvent.click(screen.getByRole("button"));
  expect(screen.queryByText("Statements that failed the check")).toBeNull();
});
