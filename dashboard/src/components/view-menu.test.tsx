import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { ColumnsMenu, ViewsMenu } from "./view-menu";

test("a view is named and chosen with the keyboard alone", async () => {
  const onChange = vi.fn();
  render(<ViewsMenu list="sessions" search={{ text: "dns" }} read={({ text }) => ({ text: String(text) })} onChange={onChange} />);
  await userEvent.tab();
  await userEvent.keyboard("{Enter}");
  const views = await screen.findByRole("dialog", { name: "Views" });
  await userEvent.tab();
  await userEvent.keyboard("About DNS{Enter}");
  const chosen = await screen.findByRole("button", { name: "About DNS" });
  expect(views.contains(chosen)).toBe(true);
  chosen.focus();
  await userEvent.keyboard("{Enter}");
  expect(onChange).toHaveBeenCalledWith({ text: "dns" });
});

test("an entry of the columns is one control, which says whether its column is shown", async () => {
  const onChange = vi.fn();
  render(<ColumnsMenu columns={[{ id: "severity", label: "Severity" }, { id: "cost", label: "Cost" }]} chosen={["cost"]} onChosen={onChange} />);
  await userEvent.click(screen.getByRole("button", { name: "Columns", hidden: true }));
  const severity = await screen.findByRole("menuitemcheckbox", { name: "Severity" });
  expect(severity.getAttribute("aria-checked")).toBe("false");
  expect(severity.querySelector("input")).toBeNull();
  await userEvent.click(severity);
  expect(onChange).toHaveBeenCalledWith(["cost", "severity"]);
});

test("a view that another tab has saved meanwhile is kept", async () => {
  render(<ViewsMenu list="sessions" search={{ text: "dns" }} read={({ text }) => ({ text: String(text) })} onChange={() => undefined} />);
  localStorage.setItem("sessions:views", JSON.stringify([{ name: "Of the other tab", search: { text: "disk" } }]));
  await userEvent.click(screen.getByRole("button", { name: "Views" }));
  await userEvent.type(await screen.findByLabelText("Name this view"), "About DNS{Enter}");
  await screen.findByRole("button", { name: "About DNS" });
  screen.getByRole("button", { name: "Of the other tab" });
});

test("a view is saved only while there is room for it, and never in place of another one", async () => {
  localStorage.setItem("sessions:views", JSON.stringify(Array.from({ length: 30 }, (_, index) => ({ name: `View ${index}`, search: { text: "dns" } }))));
  render(<ViewsMenu list="sessions" search={{ text: "disk" }} read={({ text }) => ({ text: String(text) })} onChange={() => undefined} />);
  await userEvent.click(screen.getByRole("button", { name: "Views" }));
  await userEvent.type(await screen.findByLabelText("Name this view"), "One more{Enter}");
  screen.getByText("30 views are saved: delete one to save another.");
  expect(screen.getByRole<HTMLButtonElement>("button", { name: "Save" }).disabled).toBe(true);
  expect(screen.queryByRole("button", { name: "One more" })).toBeNull();
  screen.getByRole("button", { name: "View 0" });
  // A name that is there already is replaced.
  await userEvent.clear(screen.getByLabelText("Name this view"));
  await userEvent.type(screen.getByLabelText("Name this view"), "View 3{Enter}");
  expect(JSON.parse(localStorage.getItem("sessions:views") ?? "")).toContainEqual({ name: "View 3", search: { text: "disk" } });
  await userEvent.click(screen.getByRole("button", { name: "Delete View 0" }));
  await userEvent.type(screen.getByLabelText("Name this view"), "One more{Enter}");
  await screen.findByRole("button", { name: "One more" });
});
