import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { ConfirmDialog } from "./confirm-dialog";

const clickBeside = () => userEvent.click(screen.getByRole("dialog").parentElement as HTMLElement);

test.each([true, false])("a click beside a dialog closes it unless it has fields (has fields: %s)", async (hasFields) => {
  const onClose = vi.fn();
  render(
    <ConfirmDialog title="Pause?" text="For now." onClose={onClose}>
      {hasFields ? <input aria-label="Reason" /> : undefined}
    </ConfirmDialog>,
  );
  await clickBeside();
  expect(onClose).toHaveBeenCalledTimes(hasFields ? 0 : 1);
  await userEvent.keyboard("{Escape}");
  expect(onClose).toHaveBeenCalledTimes(hasFields ? 1 : 2);
});

test("a dialog that shows something once is closed by its button only", async () => {
  const onClose = vi.fn();
  render(<ConfirmDialog title="Copy it" text="Once." cancelLabel="Done" onClose={onClose} closesByButtonOnly />);
  await clickBeside();
  await userEvent.keyboard("{Escape}");
  expect(onClose).not.toHaveBeenCalled();
  await userEvent.click(screen.getByRole("button", { name: "Done" }));
  expect(onClose).toHaveBeenCalledTimes(1);
});
